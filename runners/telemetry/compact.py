"""One compact value for a metric of a whole run: a byte of version, then binary32 in four planes, deflated.

Values are rounded to 13 significant bits, which is 1 part in 8,192 or better, so that the lowest plane is empty and
the second half so. A missing value is not a number.
"""

from __future__ import annotations

import math
import sys
import zlib
from array import array
from collections.abc import Sequence

VERSION = b"\1"
ROUNDED_BITS = 11
MOST_BYTES = 1 << 20


def pack(values: Sequence[float | None]) -> bytes:
    """Return the values as one compact value."""
    bits = array("I", array("f", (math.nan if value is None else value for value in values)).tobytes())
    half, mask = 1 << (ROUNDED_BITS - 1), ~((1 << ROUNDED_BITS) - 1) & 0xFFFFFFFF
    rounded = array("I", ((word + half & mask) if word & 0x7F800000 != 0x7F800000 else 0x7FC00000 for word in bits))
    if sys.byteorder == "big":
        rounded.byteswap()
    content = rounded.tobytes()
    return VERSION + zlib.compress(b"".join(content[plane::4] for plane in range(4)), 9)


def unpack(content: bytes) -> list[float | None]:
    """Return the values of a compact value. Raises ValueError for one of another version, or that is damaged."""
    if content[:1] != VERSION:
        raise ValueError("This is no series of telemetry, or one of a later version.")
    try:
        planes = zlib.decompressobj().decompress(content[1:], MOST_BYTES)
    except zlib.error as error:
        raise ValueError("This series of telemetry is damaged.") from error
    count = len(planes) // 4
    words = array("I", bytes(4 * count))
    view = memoryview(words).cast("B")
    for plane in range(4):
        view[plane::4] = planes[plane * count : (plane + 1) * count]
    if sys.byteorder == "big":
        words.byteswap()
    return [None if math.isnan(value) else value for value in array("f", words.tobytes())]
