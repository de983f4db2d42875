"""How much the demonstration measures, as whoever starts it wants it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchhub.embedded import EmbeddedError

MOST = {"SECONDS": 3600, "REPEATS": 100, "LEVELS": 100}


@dataclass(frozen=True, slots=True)
class Extent:
    """Numbers of clients, repeats of each, and seconds of a run; None leaves what the demonstration has by itself."""

    levels: tuple[int, ...] | None = None
    repeats: int | None = None
    duration_s: int | None = None

    @classmethod
    def read(cls, levels: str, repeats: str, seconds: str) -> Extent:
        """Read them as they are typed, empty for none. Raises EmbeddedError, with what may be typed."""
        numbers = [_number("LEVELS", word) for word in re.split(r"[ ,]+", levels.strip()) if word]
        return cls(
            tuple(sorted(set(numbers))) or None,
            _number("REPEATS", repeats) if repeats else None,
            _number("SECONDS", seconds) if seconds else None,
        )

    def words(self) -> list[str]:
        """Return it as words of a command line."""
        words = ["--levels", *map(str, self.levels)] if self.levels else []
        words += ["--repeats", str(self.repeats)] if self.repeats else []
        return words + (["--seconds", str(self.duration_s)] if self.duration_s else [])


def _number(name: str, text: str) -> int:
    if re.fullmatch(r"[0-9]{1,4}", text) and 1 <= int(text) <= MOST[name]:
        return int(text)
    raise EmbeddedError(f"{name} must be a whole number from 1 to {MOST[name]:,}, not {text[:40]!r}.")
