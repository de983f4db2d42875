"""A command as every login shell hands it to /bin/sh, with a mark on either side of its output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import asyncssh

# Until its mark came, what a login shell started may be another shell, which would carry out what it reads as commands.
BEGIN_TIMEOUT_S = 15.0
READ_BYTES = 64 << 10
_NOT_PLAIN = {*range(32), *b"\"$`\\'!^", *range(127, 256)}


def begin_mark(nonce: str) -> bytes:
    """Return what /bin/sh writes before the command."""
    return f"BEGIN-{nonce}\n".encode()


def end_mark(nonce: str) -> bytes:
    """Return what /bin/sh writes after the command; the exit code follows."""
    return f"END-{nonce} ".encode()


def framed(command: str, nonce: str) -> str:
    """Return `command` for /bin/sh, whatever the login shell is, with a mark on either side of its output.

    It is one line, in single quotes, of characters that sh, csh and fish alike leave alone there.
    """
    path = "PATH=$PATH:/usr/bin:/bin\nexport PATH"
    script = f"echo BEGIN-{nonce}\n{path}\n(\n{command}\n)\nprintf 'END-{nonce} %d\\n' $?"
    plain = "".join(f"\\0{byte:03o}" if byte in _NOT_PLAIN else chr(byte) for byte in script.encode())
    return f'exec /bin/sh -c \'eval "$(printf %b "{plain}")"\''


@dataclass(frozen=True, slots=True)
class Command:
    """What a target is asked to do, and how much it may answer."""

    text: str
    input: bytes
    most_bytes: int
    on_line: Callable[[bytes], None] | None
    gives_way: bool


async def converse(process: asyncssh.SSHClientProcess[bytes], command: Command, mark: bytes) -> tuple[bytes, bytes]:
    """Return what came on both streams. Raises OverflowError once either is larger than the command allows,
    and TimeoutError where /bin/sh began too late to be given its input."""
    begun = asyncio.Event()

    def listen(line: bytes) -> None:
        if line.endswith(mark):
            begun.set()
        if command.on_line:
            command.on_line(line)

    feeding = asyncio.create_task(_feed(process, command.input, begun))
    streams = (_bounded(process.stdout, command, listen), _bounded(process.stderr, command))
    try:
        stdout, stderr = await asyncio.gather(*streams)
    finally:
        feeding.cancel()
    await process.wait_closed()
    if begun.is_set() and feeding.done() and not feeding.cancelled() and not feeding.result():
        raise TimeoutError  # it began after all, too late for its input
    return stdout, stderr


async def _feed(process: asyncssh.SSHClientProcess[bytes], content: bytes, begun: asyncio.Event) -> bool:
    """Write the input once /bin/sh has begun, to anything else only its end; tell whether all that was due was sent."""
    is_fed = not content
    with suppress(BrokenPipeError):  # a command that has ended by now reads nothing
        with suppress(TimeoutError):
            if content:
                await asyncio.wait_for(begun.wait(), BEGIN_TIMEOUT_S)
                is_fed = True
                process.stdin.write(content)
        process.stdin.write_eof()
    return is_fed


async def _bounded(
    stream: asyncssh.SSHReader[bytes], command: Command, on_line: Callable[[bytes], None] | None = None
) -> bytes:
    content, line_at, new_at = bytearray(), 0, 0
    while piece := await stream.read(READ_BYTES):
        content += piece
        if len(content) > command.most_bytes:
            raise OverflowError(f"sent more than the {command.most_bytes:,} bytes that the command may answer with.")
        while on_line and (end := content.find(b"\n", max(line_at, new_at)) + 1):
            on_line(bytes(content[line_at:end]))
            line_at = end
        new_at = len(content)
    return bytes(content)
