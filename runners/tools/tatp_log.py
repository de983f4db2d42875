"""What a run of TATP leaves on the driver, reduced there by awk: outcomes as they were told, and latencies.

pgbench's threads write to stderr at the same time, each piece in one go: what was told can stand within another
line. `SPLIT_AWK` takes it out, which makes the other lines whole again, and writes

    marks        client, transaction, script, outcome of each write that may be refused; the transaction counts from 1
    tatp.told    per line of progress: its time, failed and succeeded writes of scripts 3, 5 and 6, and of the reads
                 that may find nothing how many were asked and found: access data, then new destinations; and k
                 where only one in k of these was looked at

`REDUCE_AWK` is pgbench's reduction of the log (`runners.tools.pgbench_log`) without the warm-up and without the
writes that were refused, which stand there as kinds: "kind refused-5 117". It reads both files side by side and
keeps of the marks only those that the log has not reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runners.tools.pgbench_log import COUNT_AWK, COUNT_LINE_AWK

ACCEPTING = (3, 5, 6)
# Scripts of the reads that look whether there was a row, where the others do not, by the transaction that they are.
LOOKED_AT = {7: 1, 8: 2}
REFUSED = "refused-"

# Marks have more digits than binary64, in which awk computes: they are taken apart as text.
SPLIT_AWK = """\
function tell(value) {
    value = "00000000000000000" value
    size = length(value)
    if (substr(value, size) == "2") {
        counted["found"] += substr(value, size - 4, 4)
        counted["asked"] += substr(value, size - 8, 4)
        counted["access found"] += substr(value, size - 12, 4)
        counted["access asked"] += substr(value, 1, size - 13)
        return
    }
    counted[substr(value, size - 1)]++
    printf "%.0f %.0f %s %s\\n", substr(value, size - 6, 5), substr(value, 1, size - 7), \\
        substr(value, size - 1, 1), substr(value, size) > marks
}
function flush(at) {
    print at, counted["30"] + 0, counted["31"] + 0, counted["50"] + 0, counted["51"] + 0, counted["60"] + 0, \\
        counted["61"] + 0, counted["access asked"] + 0, counted["access found"] + 0, counted["asked"] + 0, \\
        counted["found"] + 0, every > told
    split("", counted)
}
BEGIN { printf "" > marks; if (!every) every = 1 }
{
    gsub(/debug\\(script=[0-9]+,command=[0-9]+\\): /, "")
    if (match($0, /int [0-9]+$/)) {
        tell(substr($0, RSTART + 4))
        rest = rest substr($0, 1, RSTART - 1)
        next
    }
    line = rest $0
    rest = ""
    print line
    if (line ~ /^progress: [0-9.]+ s, /) { split(line, word, " "); flush(word[2]) }
}
END { if (rest != "") print rest; flush("end") }
"""

REDUCE_AWK = (
    """\
function is_refused(client, number,    line, part, at) {
    while (known[client] < number && (getline line < marks) > 0) {
        split(line, part, " ")
        if (part[1] < lowest || part[1] >= beyond) continue
        known[part[1]] = part[2] + 0
        if (part[4] == 0) queue[part[1], length_of[part[1]]++] = part[2] + 0
    }
    at = reached[client] + 0
    while (at < length_of[client] && queue[client, at] < number) delete queue[client, at++]
    reached[client] = at
    return at < length_of[client] && queue[client, at] == number
}
# Which clients a thread has: pgbench deals them out in rows.
FNR == 1 {
    close(marks)
    split("", known); split("", queue); split("", length_of); split("", reached)
    split(FILENAME, name, ".")
    beyond = 0
    for (thread = 0; thread <= name[3] + 0; thread++) {
        lowest = beyond
        beyond += int((clients - lowest + threads - thread - 1) / (threads - thread))
    }
}
"""
    + COUNT_AWK
    + """\
epoch + 0 < from + 0 { next }
($4 == 3 || $4 == 5 || $4 == 6) && is_refused($1, $2 + 0) { kinds["refused-" $4]++; next }
"""
    + "".join(f"$4 == {looked} {{ $4 = {script} }}\n" for looked, script in LOOKED_AT.items())
    + COUNT_LINE_AWK
)


@dataclass(frozen=True, slots=True)
class Told:
    """What was told until the line of progress at `at_s`, since the one before: counts by script.

    `refused` and `done` are of the writes of ACCEPTING, in that order. One in `every` reads was looked at, and
    only these are counted here.
    """

    at_s: float
    refused: tuple[int, int, int]
    done: tuple[int, int, int]
    access_asked: int
    access_found: int
    destination_asked: int
    destination_found: int
    every: int = 1


def read_told(text: str) -> Iterator[Told]:
    """Yield what SPLIT_AWK wrote; what came after the last line of progress is left out. ValueError if cut off."""
    lines = text.splitlines()
    if not lines or not lines[-1].startswith("end "):
        raise ValueError("What was told of the outcomes is cut off.")
    for line in lines[:-1]:
        at_s, *counts = line.split()
        f3, d3, f5, d5, f6, d6, *reads = (int(count) for count in counts)
        yield Told(float(at_s), (f3, f5, f6), (d3, d5, d6), *reads)
