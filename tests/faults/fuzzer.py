"""An SSH target that runs what it is asked to, and then answers something else: the honest answer, spoilt by a seed."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import asyncssh

from runners.keys import make_key_pair
from runners.ssh import Target

NONCE = re.compile("BEGIN-([0-9a-f]{24})")
NUMBERS = [b"-1", b"-11", b"1e999", b"nan", b"inf", str(2**70).encode(), b"9" * 5000, b"0x10", "\u00b2".encode(), b""]
TEXTS = [
    b"\0",
    b"\xff\xfe",
    b"\n" * 999,
    b" " * 999,
    b"=",
    b"|",
    b"\x1e",
    b"<script>",
    "\ud83d".encode("utf-8", "replace"),
]
DEEP = b"[" * 50_000

Spoil = Callable[[Random, bytes, Sequence[bytes]], bytes]


def _cut(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    return answer[: random.randint(0, len(answer))]


def _headless(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    return answer[random.randint(0, len(answer)) :]


def _repeated(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    return answer * random.randint(2, 40)


def _swapped(random: Random, _: bytes, others: Sequence[bytes]) -> bytes:
    return random.choice(others)


def _shuffled(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    lines = answer.splitlines(keepends=True)
    random.shuffle(lines)
    return b"".join(lines)


def _line_again(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    lines = answer.splitlines(keepends=True) or [b"\n"]
    place = random.randrange(len(lines))
    return b"".join([*lines[:place], lines[place] * 5000, *lines[place:]])


def _flipped(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    content = bytearray(answer or b"x")
    for _ in range(random.randint(1, 20)):
        content[random.randrange(len(content))] = random.randrange(256)
    return bytes(content)


def _number(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    return _replaced(random, answer, re.compile(rb"[0-9]+"), random.choice(NUMBERS))


def _word(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    return _replaced(random, answer, re.compile(rb"[^\s=|:\"]+"), random.choice([*TEXTS, b"x" * 70_000, DEEP]))


def _planted(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    place = random.randint(0, len(answer))
    return answer[:place] + random.choice([*TEXTS, *NUMBERS, DEEP]) + answer[place:]


def _binary(random: Random, _answer: bytes, _: Sequence[bytes]) -> bytes:
    return random.randbytes(random.choice([1, 100, 100_000]))


def _oversized(random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    return (answer or b"x") * (random.choice([1 << 16, 1 << 20, 6 << 20]) // max(1, len(answer)) + 1)


def _honest(_random: Random, answer: bytes, _: Sequence[bytes]) -> bytes:
    return answer


def _replaced(random: Random, answer: bytes, pattern: re.Pattern[bytes], by: bytes) -> bytes:
    spans = [match.span() for match in pattern.finditer(answer)] or [(0, 0)]
    begin, end = random.choice(spans)
    return answer[:begin] + by + answer[end:]


SPOILS: tuple[Spoil, ...] = (
    _cut, _headless, _repeated, _swapped, _shuffled, _line_again, _flipped, _number, _number, _word, _planted, _binary,
    _oversized, _honest,
)  # fmt: skip
# What stands behind an answer, where an exit code is due; {} is the nonce.
ENDS = (
    b"END-{} \n",
    b"END-{} x\n",
    b"END-{} -1\n",
    b"END-{} " + b"9" * 5000,
    b"",
    b"END-{} 7\n",
    b"END-{} 0 END-{} \n",
)
HANG_S = 3600


@dataclass
class Fuzzer:
    """A target of loopback. `random` spoils its answers; without it the target is honest.

    `folder` is the home of what it runs. `spoilt` counts the answers that were spoilt.
    """

    folder: Path
    random: Random | None = None
    spoilt: int = 0
    port: int = 0
    _answers: dict[str, bytes] = field(default_factory=dict)
    _keys: tuple[str, str] = ("", "")

    async def start(self) -> asyncssh.SSHAcceptor:
        pair = make_key_pair("fuzzer")
        self._keys = pair.private_key, pair.public_key
        acceptor = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=_Anyone,
            server_host_keys=[asyncssh.import_private_key(pair.private_key)],
            process_factory=self._serve,
            encoding=None,
        )
        self.port = acceptor.get_port()
        return acceptor

    @property
    def target(self) -> Target:
        return Target("127.0.0.1", self.port, "anyone", *self._keys)

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        try:
            with suppress(OSError, asyncssh.Error):  # the client may hang up on what it does not want to hear
                await self._answer(process)
        finally:
            process.exit(0)

    async def _answer(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        command = process.command or ""
        [nonce] = set(NONCE.findall(command))
        if self.random is None:
            process.stdout.write(await self._begin(command, nonce, process))
            return
        self.spoilt += 1
        answer = await self._honest_answer(command, nonce, process)
        random = Random(self.random.random())
        spoilt = random.choice(SPOILS)(random, answer, list(self._answers.values()))
        await self._deliver(process, random, nonce.encode(), spoilt)

    async def _honest_answer(self, command: str, nonce: str, process: asyncssh.SSHServerProcess[bytes]) -> bytes:
        """Return what the command answers, which is run once only, without its frame."""
        plain = command.replace(nonce, "")
        if plain not in self._answers:
            self._answers[plain] = (await self._begin(command, nonce, process)).rpartition(b"END-")[0]
        return self._answers[plain]

    async def _begin(self, command: str, nonce: str, process: asyncssh.SSHServerProcess[bytes]) -> bytes:
        """Write the mark, for which the input waits, and return what comes behind it."""
        mark = f"BEGIN-{nonce}\n".encode()
        process.stdout.write(mark)
        return (await self._run(command, await process.stdin.read())).removeprefix(mark)

    async def _run(self, command: str, text: bytes) -> bytes:
        environment = {"HOME": str(self.folder), "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        run = partial(subprocess.run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=30)
        shell = ["/bin/sh", "-c", command]
        return (await asyncio.to_thread(run, shell, input=text, env=environment, cwd=self.folder)).stdout

    async def _deliver(
        self, process: asyncssh.SSHServerProcess[bytes], random: Random, nonce: bytes, answer: bytes
    ) -> None:
        end = random.choice(ENDS) if random.random() < 0.1 else b"END-{} 0\n"
        framed = b"BEGIN-" + nonce + b"\n" + answer + end.replace(b"{}", nonce)
        manner = random.random()
        if manner < 0.02:
            process.stdout.write(framed[: random.randint(0, len(framed))])
            await asyncio.sleep(HANG_S)
        elif manner < 0.06:
            process.stderr.write(b"oops\n" * random.choice([1, 1_000_000]))
        elif manner < 0.08:
            process.stdout.write(framed[: random.randint(0, len(framed))])
            process.channel.get_connection().abort()
        for place in range(0, len(framed), step := random.choice([len(framed), 4096, len(framed) // 50 + 1])):
            process.stdout.write(framed[place : place + step])
            await process.stdout.drain()


class _Anyone(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        del username
        return False
