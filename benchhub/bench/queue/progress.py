"""The progress of an experiment, and an estimate of how long it will still take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TextIO

from django.db.models import QuerySet, Sum

from benchhub.analysis.words import count, listing
from benchhub.bench.models import Run, RunTally
from benchhub.bench.models.states import FINAL, State

BAR_WIDTH = 28
LOAD_GUESS_S = 10.0
STEPS_GUESS_S = 0.7  # beside the load itself, until runs have shown how long theirs take
FIRST_STEPS = timedelta(minutes=10)
LATE_S = 10.0  # a vacuum or a checkpoint may take as long without any harm
Extras = Mapping[tuple[int, str], float]  # seconds beside the load, by experiment and kind (Run.objects.extras_s)
NAMES = ((Run.Kind.MEASURE, "run"), (Run.Kind.WARMUP, "warm-up"), (Run.Kind.LOAD, "initialisation"))


def counted(kinds: Mapping[str, int], done: Mapping[str, int] | None = None) -> str:
    """Word the counts: {'measure': 16, 'load': 2} -> '16 runs and 2 initialisations'. What is loaded and
    warm-ups are counted apart.

    With `done`: '3 of 16 runs and 2 of 2 initialisations'.
    """
    done_text = {kind: "" if done is None else f"{done.get(kind, 0):,} of " for kind, _ in NAMES}
    parts = [f"{done_text[kind]}{count(n, name)}" for kind, name in NAMES if (n := kinds.get(kind, 0))]
    return listing(parts) or "0 runs"


@dataclass(frozen=True, slots=True)
class Tally:
    """The runs of one kind that are in one state: `load_s` is of all their loads together.

    `timed` of them have a start and an end, and took `taken_s` in all for loads of `timed_load_s`.
    """

    kind: str
    state: str
    runs: int
    load_s: int = 0
    timed: int = 0
    taken_s: float = 0.0
    timed_load_s: int = 0
    cancelling: int = 0


def tallies(runs: QuerySet[RunTally]) -> list[Tally]:
    """Count the runs by kind and state, in one query that does not go through those that ended."""
    sums = {name: Sum(name) for name in ("runs", "load_s", "timed", "timed_load_s", "cancelling")}
    rows: QuerySet[Any, Any] = runs.order_by().values("kind", "state").annotate(**sums, taken_s=Sum("taken"))
    return [Tally(**{**row, "taken_s": row["taken_s"].total_seconds()}) for row in rows if row["runs"]]


def seconds_left(tallies: Iterable[Tally], rest_s: float = 0) -> float:
    """Estimate the seconds left by what ended runs took beyond their load; a data set takes as long as others did."""
    rows = list(tallies)
    ended = [row for row in rows if row.state in FINAL and row.timed]
    measured = [row for row in ended if row.kind == Run.Kind.MEASURE]
    loads = [row for row in ended if row.kind == Run.Kind.LOAD]
    extra_s = _mean([row.taken_s - row.timed_load_s for row in measured], measured, STEPS_GUESS_S)
    load_s = _mean([row.taken_s for row in loads], loads, LOAD_GUESS_S)
    waiting = [row for row in rows if row.state not in FINAL]
    beside_s = max(0.0, extra_s) + rest_s
    return sum(row.runs * load_s if row.kind == Run.Kind.LOAD else row.load_s + row.runs * beside_s for row in waiting)


def _mean(sums: Sequence[float], rows: Sequence[Tally], otherwise: float) -> float:
    return sum(sums) / sum(row.timed for row in rows) if rows else otherwise


def run_seconds_left(run: Run, at: datetime, extras: Extras) -> float:
    """Estimate the seconds that a run under way or in the queue still takes, seen from `at`."""
    if not run.started_at:
        return _whole_s(run, extras)
    end = expected_end(run, at, extras)
    return max(0.0, (end - at).total_seconds()) if end else 0.0


def run_seconds_late(run: Run, at: datetime, extras: Extras) -> float:
    """Return for how many seconds a run takes longer than expected, seen from `at`; 0 up to LATE_S."""
    end = expected_end(run, at, extras)
    late_s = (at - end).total_seconds() if end else 0.0
    return late_s if late_s > LATE_S else 0.0


def expected_end(run: Run, at: datetime, extras: Extras) -> datetime | None:
    """Return when a run is expected to end, seen from `at`; None before it has started, or where nobody can tell.

    While it prepares its load, all of that is to come. Until a run of the experiment has shown how long everything
    beside a load takes, that may be minutes.
    """
    if not run.started_at:
        return None
    end = run.started_at + timedelta(seconds=_whole_s(run, extras))
    if hasattr(run, "watch") and run.watch.is_preparing:
        return max(end, at + timedelta(seconds=run.expected_s))
    is_first = _key(run) not in extras
    return None if is_first and end < at < end + FIRST_STEPS else end


def deadline(run: Run) -> datetime | None:
    """Return when its host ends a run at the latest; None before it has started, or where no host does.

    The host counts from the start of the load generator, which may be noticed only some time later.
    """
    seconds = run.spec.get("deadline_s")
    return run.started_at + timedelta(seconds=seconds) if run.started_at and seconds else None


def _whole_s(run: Run, extras: Extras) -> float:
    return (run.expected_s or LOAD_GUESS_S) + extras.get(_key(run), STEPS_GUESS_S)


def _key(run: Run) -> tuple[int, str]:
    return run.experiment_id, run.kind


def clock(seconds: float) -> str:
    """Write seconds as on a clock: 95 -> '1:35'; 3700 -> '1:01:40'."""
    minutes, rest_s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest_s:02}" if hours else f"{minutes}:{rest_s:02}"


class Progress:
    """A bar on a terminal; elsewhere one line per run that ended.

    Runs that had ended before `since` are shown apart: they are not of this start.
    """

    def __init__(self, out: TextIO, since: datetime | None = None) -> None:
        self.out = out
        self.since = since
        self.is_terminal = out.isatty()
        self.begun_s = time.monotonic()
        self.printed_keys: set[int] = set()

    def show(self, runs: Sequence[Run]) -> None:
        ended = [run for run in runs if run.is_final and run.pk not in self.printed_keys]
        if earlier := self._earlier(ended):
            self._line(f"  There before, of an earlier start: {_kinds(earlier)}")
            self._ended(earlier, len(runs))
            if own := [run for run in runs if run not in earlier]:
                self._line(f"  Of this start: {_kinds(own)}")
        self._ended([run for run in ended if run not in earlier], len(runs))
        if self.is_terminal:
            self.out.write(f"\r\033[K{self._bar(runs)}")
        self.out.flush()

    def end(self, runs: Sequence[Run]) -> bool:
        unsuccessful = [run for run in runs if run.state != State.SUCCEEDED]
        verdict = f"{len(unsuccessful)} did not succeed" if unsuccessful else "all succeeded"
        self._line(f"  {self._done(runs)}: {verdict}")
        self.out.flush()
        return not unsuccessful

    def _done(self, runs: Sequence[Run]) -> str:
        earlier = self._earlier(runs)
        own = [run for run in runs if run not in earlier]
        if earlier and not own:
            return "Nothing was left to run at this start"
        earlier_text = f", beside {_kinds(earlier)} from before" if earlier else ""
        return f"{_kinds(own)} in {clock(time.monotonic() - self.begun_s)}{earlier_text}"

    def _earlier(self, runs: Sequence[Run]) -> list[Run]:
        return [run for run in runs if self.since and run.is_final and run.ended_at and run.ended_at < self.since]

    def _ended(self, runs: Sequence[Run], total: int) -> None:
        for run in runs:
            self.printed_keys.add(run.pk)
            self._line(f"  {len(self.printed_keys):>3}/{total}  {_summary(run)}")

    def _line(self, text: str) -> None:
        start = "\r\033[K" if self.is_terminal else ""
        self.out.write(f"{start}{text}\n")

    def _bar(self, runs: Sequence[Run]) -> str:
        done = len(self.printed_keys) / len(runs) if runs else 1
        full = round(done * BAR_WIDTH)
        now = next((f" {run}" for run in runs if not run.is_final and run.state != State.QUEUED), "")
        bar = "#" * full + "." * (BAR_WIDTH - full)
        return f"  [{bar}] {len(self.printed_keys)}/{len(runs)}  about {clock(_left_s(runs))} left {now}"[:110]


def _left_s(runs: Sequence[Run]) -> float:
    rows = RunTally.objects.filter(experiment__in={run.experiment_id for run in runs})
    return seconds_left(tallies(rows), runs[0].experiment.rest_s) if runs else 0.0


def _kinds(runs: Sequence[Run]) -> str:
    return counted(Counter(run.kind for run in runs))


def _summary(run: Run) -> str:
    if run.state != State.SUCCEEDED:
        return f"{run}: {run.state}. {run.reason}"
    if run.kind == Run.Kind.LOAD:
        return f"{run}: loaded"
    return f"{run}: {run.result.throughput:,.0f} {run.result.unit}"
