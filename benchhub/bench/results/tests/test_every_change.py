"""Every change of one number or line of real outputs is refused, doubted or said, or a reason says why nothing can."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

import runners.tools
from benchhub.bench.results.tests.changes import text_changes
from benchhub.bench.results.tests.recordings import result_and_doubts, run_of
from runners.contract import Outputs, RunResult, RunSpec
from runners.tools.printed import cut_text, printed_text

LAST_DIGIT, AND_1, DROPPED = "and its last digit", "and 1", "dropped"
ROUNDED = "What it is held against is rounded as well, or was counted a moment before."
UNSTORED = "What is not printed is not stored: no number is wrong."
UNDER_WAY = "Transactions under way at both ends of an interval are more than that."
BOUNDED = "One transaction may take any time: nothing else rests on the longest or shortest alone."
OF_SECOND = "Of the latencies of an interval nothing else is printed; its bounds are those of the run."
TOLD_LATE = "What is told in a second may be of another one: only the sum of all is held against the transactions."


@dataclass(frozen=True, slots=True)
class Undetectable:
    """A field (its line with # for numbers) whose changes by these titles, or any, show in no other number."""

    field: str
    reason: str
    titles: tuple[str, ...] = ()

    def covers(self, field: str, title: str) -> bool:
        return bool(re.search(self.field, field)) and (not self.titles or title.endswith(self.titles))


PGBENCH = (
    Undetectable("", ROUNDED, (LAST_DIGIT,)),
    Undetectable("^(latency|tps|initial|average|rate|number|total)[^<]*$", UNSTORED, (DROPPED,)),
    Undetectable("^initial connection", "Before the load, in no other number."),
    Undetectable("^average connection", "A client may have waited for what neither it nor the average has."),
    Undetectable("^latency stddev", "Beside a whole log only the reports bound it, by their own rounding."),
    Undetectable("^rate limit schedule lag: avg <#>", "Of the lag a log's reduction has the longest alone."),
    Undetectable("^tps = <#>", "How much connecting took is in neither rate alone.", (AND_1, "swapped", "as 0")),
    Undetectable("processed: <#>", "Less than the rounding of the duration, where no log counts.", (AND_1,)),
    Undetectable("^total number of retries: <#>", "Retries after the last report are in the total alone.", (AND_1,)),
    Undetectable("^progress: .*stddev <#>", "The deviation of a second need not be that of the run."),
    Undetectable("^progress: .*(lat|lag) <#>", OF_SECOND),
    Undetectable("^progress: .*<#> (tps|failed|skipped|retried|retries)", UNDER_WAY),
    Undetectable("^progress: <#>", "A report may come late by that much.", (AND_1,)),
    Undetectable("^progress: [^<]*$", "A report may come late, or be the last that the run was too short for."),
)
SYSBENCH = (
    Undetectable("", ROUNDED, (LAST_DIGIT,)),
    Undetectable(r"^(min|avg|max|sum|total|time|reconnects|approx|#th|Number|ignored)[^<]*$", UNSTORED, (DROPPED,)),
    Undetectable("^(min|max): <#>", BOUNDED),
    Undetectable("percentile: <#>", "Without buckets nothing counts what lies above it, the average leaves room."),
    Undetectable("<#>(th)? percentile", "Without reports of progress nothing else names its share."),
    Undetectable(r"^\[ <#>s ?\]", "A report may come late by half a second, and is printed as a whole one.", (AND_1,)),
    Undetectable(r"^\[ .*(lat \(ms,#%\): <#>|response time: <#>)", OF_SECOND),
    Undetectable(r"^\[ .*(err/s|errors): <#>", "Errors are few, so that a second's may be any of them."),
    Undetectable(r"^\[ .*(tps|reads|writes): <#>", UNDER_WAY, (AND_1,)),
    Undetectable(r"^\[ [^<]*$", "A report may come late, and the last not at all.", (DROPPED,)),
)
TATP = (
    Undetectable("", ROUNDED, (LAST_DIGIT, AND_1)),
    Undetectable("^progress: .*lat <#>", "Transactions may have begun before the second in which they end."),
    Undetectable("^# .*<#>", TOLD_LATE),
    Undetectable("^progress: .*<#> tps", "A second is a thirtieth of the run: the shares of outcomes leave as much."),
    Undetectable(r"^#\|<#>", "It only bounds how many destinations are found, by less than chance does."),
    Undetectable("^(<#>|#)$", "When it began moves no number, only the place of all on a clock."),
)


@dataclass(frozen=True, slots=True)
class Source:
    """A text that a run left: on a stream, or in a file. Of many changes one in `every` is made."""

    run: str
    name: str
    every: int = 1

    def text(self, outputs: Outputs) -> str:
        if self.name in outputs.files:
            return outputs.files[self.name].decode()
        return (outputs.stdout if self.name == "stdout" else outputs.stderr).decode()

    def changed(self, outputs: Outputs, text: str) -> Outputs:
        if self.name in outputs.files:
            return replace(outputs, files={**outputs.files, self.name: text.encode()})
        return (
            replace(outputs, stdout=text.encode()) if self.name == "stdout" else replace(outputs, stderr=text.encode())
        )


PGBENCH_RUNS = (
    "13-rate_skips",
    "13-contended",
    "14-connect_each",
    "15-serialization",
    "18-timestamps_merged",
    "18-transactions",
    "18-weights",
)
SOURCES = {
    "pgbench": tuple(Source(run, stream) for run in PGBENCH_RUNS for stream in ("stdout", "stderr")),
    "sysbench": tuple(Source(run, "stdout") for run in ("0.5-progress", "1.1-plain", "1.1-progress")),
    "tatp": tuple(
        Source("tatp", name, every=3)
        for name in ("tatp.messages", "tatp.told", "tatp.before", "tatp.after", "started_epoch")
    ),
}
TABLES = {"pgbench": PGBENCH, "sysbench": SYSBENCH, "tatp": TATP}


def numbers_of(result: RunResult) -> tuple[object, ...]:
    """Return all that is stored, shown or compared of a result."""
    return result.measures, result.series, result.histograms


def silent_changes(source: Source) -> Iterator[tuple[str, str]]:
    """Yield field and title of each change that moves a number without refusal, doubt or remark."""
    spec, outputs = run_of(source.run)
    is_believed = believed(spec, outputs)
    for place, change in enumerate(text_changes(source.text(outputs))):
        if place % source.every == 0 and is_believed(source.changed(outputs, change.text)):
            yield change.field, change.title


def believed(spec: RunSpec, outputs: Outputs) -> Callable[[Outputs], bool]:
    """Return what tells whether changed outputs are taken as they are, with other numbers."""
    honest, honest_doubts = result_and_doubts(spec, outputs)
    codes = Counter(doubt.code for doubt in honest_doubts)
    always = runners.tools.get(spec.tool).always if spec.tool != "tatp" else ()

    def is_believed(changed: Outputs) -> bool:
        result, doubts = result_and_doubts(spec, changed)
        is_said = Counter(doubt.code for doubt in doubts) - codes or set(result.remarks) - set(honest.remarks)
        if result.outcome == "failed" or is_said or cut_text(printed_text(changed.stdout), always):
            return False
        return numbers_of(result) != numbers_of(honest)

    return is_believed


@pytest.mark.parametrize("tool", sorted(SOURCES))
def test_a_change_of_anything_shows_or_cannot(tool: str) -> None:
    silent = [change for source in SOURCES[tool] for change in silent_changes(source)]
    assert [change for change in silent if not any(line.covers(*change) for line in TABLES[tool])] == []
    # A line that covers nothing any more has a check by now.
    assert [line.field for line in TABLES[tool] if not any(line.covers(*change) for change in silent)] == []
