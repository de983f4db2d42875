"""Key pairs of BenchHub's own: the private half stays in the warehouse, the public half is installed on the host."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Both halves in OpenSSH's text formats. The private half is left out of the repr."""

    private_key: str = field(repr=False)
    public_key: str


def make_key_pair(comment: str) -> KeyPair:
    """Return a fresh ed25519 pair. Raises ValueError for a comment that is not one printable line.

    `comment` stands at the end of the public line, for whoever reads authorized_keys.
    """
    if not comment.isprintable():
        raise ValueError("The comment of a key must be one printable line.")
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return KeyPair(private.decode(), f"{public.decode()} {comment}".strip())
