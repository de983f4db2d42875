"""Percentiles of latency second by second, out of pgbench's log, reduced by awk on the target.

`SECONDS_AWK` prints a line 'count p50 p95 p99' for each second since the first logged transaction began, in
microseconds, and 'end'. Latencies are counted in bins of 1.6%; a percentile that fewer than ten transactions of its
second lie above is '-'. Lines that have no latency, such as those of skipped transactions, are left out. A program
before it may set `pause`, the microseconds of the transaction in which its client only waited.
"""

from __future__ import annotations

from runners.contract import Series
from runners.readings import decimal

SECONDS_FILE = "latency.seconds"
MOST_SECONDS = 7200
PERCENTILES = ("p50", "p95", "p99")
SECONDS_AWK = """\
NF >= 6 && $3 ~ /^[0-9]+$/ && $5 ~ /^[0-9]+$/ && $6 ~ /^[0-9]+$/ && length($3) < 13 && length($5) < 13 {
    ended = $5 + $6 / 1000000
    if (start == "") start = ended - ($3 + pause) / 1000000
    second = ended > start ? int(ended - start) : 0
    if (second >= 7200) next
    bin = int(64 * log($3 + 1))
    total[second]++
    bins[second " " bin]++
    if (second > last) last = second
    if (bin > highest) highest = bin
}
function percentile(second, share,    rank, bin, seen) {
    if (total[second] * (1 - share) < 10) return "-"
    rank = share * total[second]
    for (bin = 0; bin <= highest; bin++) {
        if ((second " " bin) in bins) seen += bins[second " " bin]
        if (seen >= rank) return sprintf("%.0f", exp((bin + 0.5) / 64) - 1)
    }
}
END {
    for (second = 0; second <= last; second++)
        print total[second] + 0, percentile(second, 0.5), percentile(second, 0.95), percentile(second, 0.99)
    print "end"
}
"""


def series(text: str, start_epoch_s: float, seconds: int) -> tuple[Series, ...]:
    """Return the percentiles over the first so many seconds, in milliseconds; () for a text of another kind."""
    lines = text.split("\n")[: MOST_SECONDS + 1]
    rows = [line.split(" ")[1:] for line in lines[:seconds] if line != "end" and line.count(" ") == len(PERCENTILES)]
    columns = {name: [_milliseconds(row[place]) for row in rows] for place, name in enumerate(PERCENTILES)}
    return tuple(
        Series(f"latency_{name}_ms", "ms", start_epoch_s, 1.0, tuple(values))
        for name, values in columns.items()
        if any(value is not None for value in values)
    )


def _milliseconds(word: str) -> float | None:
    value = decimal(word)
    return None if value is None else value / 1000
