"""Whether data sets are restored by a copy of their files or loaded, and what either takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchhub.analysis.words import count, short_time, size

# Until a copy has been timed: files are written to an ordinary disk, after the old ones are removed.
GUESS_BYTES_PER_S, GUESS_LEAST_S = 100 * 2**20, 1.0
EMPTY_CLUSTER_BYTES, MARGIN_BYTES = 64 * 2**20, 256 * 2**20


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds that a load takes, and that a copy of its files takes; `is_measured` if both were measured."""

    load_s: float
    copy_s: float
    is_measured: bool

    @property
    def is_copy_faster(self) -> bool:
        return self.copy_s < self.load_s


@dataclass(frozen=True, slots=True)
class Restoring:
    """How the data set of an instance comes there in a plan: so many times loaded, so many times restored by a copy.

    `copy_bytes` is the disk that a copy takes beside the data; `is_copied` if the plan makes it. `reason` says why
    nothing is restored where it could be.
    """

    instance: str
    times: Times
    loads: int
    restores: int = 0
    copy_bytes: int = 0
    is_copied: bool = False
    reason: str = ""

    @property
    def saved_s(self) -> float:
        """Return the seconds by which it takes less than as many loads."""
        return self.restores * (self.times.load_s - self.times.copy_s) - self.is_copied * self.times.copy_s

    @property
    def sentence(self) -> str:
        """Say which way is taken how often, and what each takes."""
        load_text, copy_text = short_time(self.times.load_s), short_time(self.times.copy_s)
        basis = "as measured there" if self.times.is_measured else "a guess until one has been timed"
        if not self.restores:
            return f"{self.instance} loads its data each time, in {load_text}: {self.reason}."
        first = f"loaded once in {load_text} and copied, then " if self.is_copied else ""
        times_text = "once" if self.restores == 1 else count(self.restores, "time")
        return (
            f"The data of {self.instance} are {first}restored by a copy of their files, {times_text} in {copy_text} "
            f"({basis}; a load takes {load_text}). The copy takes {size(self.copy_bytes)} of disk beside the data."
        )


def guessed_s(data_bytes: int) -> float:
    """Return the seconds that a copy of so many bytes may take, as a guess until one has been timed."""
    return GUESS_LEAST_S + (data_bytes + EMPTY_CLUSTER_BYTES) / GUESS_BYTES_PER_S


def needed_bytes(data_bytes: int) -> int:
    """Return the disk that a copy takes, with the room that the server's log needs beside it."""
    return data_bytes + EMPTY_CLUSTER_BYTES + MARGIN_BYTES


def restoring(
    number: int,
    times: Times,
    *,
    instance: str,
    has_copy: bool,
    is_repeated: bool,
    data_bytes: int,
    free_bytes: int | None,
) -> Restoring:
    """Return how a data set that is needed anew so many times comes there.

    `has_copy`: one is there. `is_repeated`: the plan loads it before each run, so that the first load is copied.
    `free_bytes` is what is left on the disk after the data are loaded; None if nobody knows.
    """
    copy_bytes, loads_alone = needed_bytes(data_bytes), Restoring(instance, times, number)
    if not (has_copy or (is_repeated and number > 1)):
        return loads_alone
    if not times.is_copy_faster:
        return replace(loads_alone, reason=f"a copy of their files takes {short_time(times.copy_s)}")
    if has_copy:
        return Restoring(instance, times, 0, number, copy_bytes)
    if free_bytes is not None and free_bytes < copy_bytes:
        room = f"a copy needs {size(copy_bytes)} of disk beside the data, and {size(max(free_bytes, 0))} are free"
        return replace(loads_alone, reason=room)
    return Restoring(instance, times, 1, number - 1, copy_bytes, is_copied=True)
