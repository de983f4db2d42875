"""A command as every login shell hands it to /bin/sh, with a mark on either side of its output."""

from __future__ import annotations

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
    script = f"echo BEGIN-{nonce}\nPATH=$PATH:/usr/bin:/bin\n(\n{command}\n)\nprintf 'END-{nonce} %d\\n' $?"
    plain = "".join(f"\\0{byte:03o}" if byte in _NOT_PLAIN else chr(byte) for byte in script.encode())
    return f'exec /bin/sh -c \'eval "$(printf %b "{plain}")"\''
