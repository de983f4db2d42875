"""Reduce what a run of TATP leaves on the driver, there, by awk: outcomes as they were told, seconds and latencies.

pgbench's threads write to stderr at the same time, each piece in one go: what was told can stand within another
line. `SPLIT_AWK` takes it out, which makes the other lines whole again, and writes

    marks        client, transaction, script, 1 of each write that succeeded; the transaction counts from 1. Where
                 successes are told together, at the end also client, transaction, 0, 0: what came later was not told
    reads        of the reads that may find nothing how many were looked at and found: access data, then destinations

`REDUCE_AWK` is pgbench's reduction of the log (`runners.tools.pgbench.log`) without the warm-up and without the
writes that were refused, which stand there as kinds: "kind refused-5 117". It reads both files side by side and
keeps of the marks only those that the log has not reached. A write of the log was refused if no success has its number;
of those after the last that its client told nobody knows ("kind untold-5 2").
Where each transaction was logged, the log itself tells how many writes were refused when. Else they are as many as
pgbench says that ran, less those that succeeded: in each second, its share of what ran. It also writes

    progress     a line for each second, as pgbench's -P would print it
    tatp.told    for each of them: its time, failed and succeeded writes of scripts 3, 5 and 6, then the reads, all in
                 the last line, and k where one in k of them was looked at

pgbench is not asked for its progress, for which its first thread would arm a timer with each wait for the server. A
line of the log says instead how many transactions its client had ended by when, and between two lines of a sampled
log these are taken as evenly spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from runners.tools.pgbench.log import COUNT_AWK, COUNT_LINE_AWK

# Where only some reads are looked at, the scripts of those that are, by the transaction that they are.
LOOKED_AT = {7: 1, 8: 2}
# The kinds of lines of the log without a response time that counts, before the number of their script.
REFUSED, UNTOLD = "refused-", "untold-"

# Marks have more digits than binary64, in which awk computes: they are taken apart as text.
SPLIT_AWK = """\
# With zeros before it a number is octal to some.
function number(text) { sub(/^0+/, "", text); return text + 0 }
function counts(value, size) {
    found += number(substr(value, size - 4, 4))
    asked += number(substr(value, size - 8, 4))
    access_found += number(substr(value, size - 12, 4))
    access_asked += number(substr(value, 1, size - 13))
}
function succeeded(client, after, script) {
    last[client] += after
    printf "%d %.0f %d 1\\n", client, last[client], script > marks
}
function together(client, told,    place, one) {
    for (place = length(told) - 11; place < length(told); place += 3) {
        one = number(substr(told, place, 3))
        if (one) succeeded(client, int(one / 4), substr("356", one % 4, 1))
    }
}
function tell(value,    size, kind, client, told) {
    value = "00000000000000000" value
    size = length(value)
    kind = substr(value, size)
    if (kind == 2) { counts(value, size); return }
    client = number(substr(value, size - 5, 5))
    told = substr(value, 1, size - 6)
    if (kind == 1) together(client, told); else succeeded(client, number(told), kind)
}
BEGIN { printf "" > marks }
{
    gsub(/debug\\(script=[0-9]+,command=[0-9]+\\): /, "")
    if (match($0, /int [0-9]+$/)) {
        tell(substr($0, RSTART + 4))
        rest = rest substr($0, 1, RSTART - 1)
        next
    }
    print rest $0
    rest = ""
}
END {
    if (rest != "") print rest
    if (at_once > 1) for (client = 0; client < clients; client++) printf "%d %.0f 0 0\\n", client, last[client] > marks
    print access_asked + 0, access_found + 0, asked + 0, found + 0 > reads
}
"""

# From what pgbench summed up and the last line of each log: options of REDUCE_AWK.
SPAN_AWK = """\
/^SQL script [0-9]+: / { script = $3 - 1; scripts++; next }
/^ - [0-9]+ transactions / { ran[script] = $2; next }
/^number of transactions actually processed: / { transactions = $6 + 0; next }
/^tps = .*(without|excluding) / { tps = $3 + 0; next }
/^[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+/ { moment = $5 + $6 / 1000000; if (moment > last) last = moment }
END {
    if (!tps || !last || !scripts) {
        print "pgbench ended without a summary of each script, or without a line in its log" > "/dev/stderr"
        exit 1
    }
    seconds = transactions / tps
    rows = seconds < 1 ? 1 : int(seconds + 0.5)
    printf "-v transactions=%.0f -v seconds=%.6f -v rows=%d -v start=%.6f -v ran=%.0f,%.0f,%.0f\\n", \\
        transactions, seconds, rows, last - seconds, ran[3], ran[5], ran[6]
}
"""

# The log is sampled, so a client's share of a second ends between two of its lines; `rows` seconds from `start` on.
# Where each transaction was logged, which is where each read was looked at, it tells itself when writes were refused.
REDUCE_AWK = (
    """\
function read_marks(client, until,    line, part, who) {
    while (known[client] + 0 < until && (getline line < marks) > 0) {
        split(line, part, " ")
        who = part[1]
        if (who < lowest || who >= beyond) continue
        if (part[3] == 0) { told_until[who] = part[2] + 0; continue }
        known[who] = place[who, length_of[who] + 0] = part[2] + 0
        script_of[who, length_of[who]++ + 0] = part[3] + 0
    }
}
function has_succeeded(client, number,    at) {
    at = seen[client] > reached[client] ? seen[client] : reached[client] + 0
    while (at < length_of[client] && place[client, at] < number) at++
    seen[client] = at
    return at < length_of[client] && place[client, at] == number
}
function settle(client, row, number, until,    at) {
    if (number > counted[client]) { ended[row] += number - counted[client]; counted[client] = number }
    for (at = reached[client] + 0; at < length_of[client] && place[client, at] <= until; at++) {
        done[row, script_of[client, at]]++
        delete script_of[client, at]; delete place[client, at]
    }
    reached[client] = at
}
function reach(client, number, at,    edge, since, then) {
    since = client in time ? time[client] : start
    while (over[client] + 1 < rows && (edge = start + over[client] + 1) < at) {
        then = int(before[client] + (number - before[client]) * (edge - since) / (at - since))
        settle(client, ++over[client], then, then)
    }
    before[client] = number
    time[client] = at
}
# Which clients a thread has: pgbench deals them out in rows.
function begin_thread(number,    thread) {
    is_read[number]
    beyond = 0
    for (thread = 0; thread <= number; thread++) {
        lowest = beyond
        beyond += int((clients - lowest + threads - thread - 1) / (threads - thread))
    }
}
function end_thread(    client) {
    read_marks("none", 1)
    for (client in length_of) settle(client, rows, 0, 9007199254740992)
    close(marks)
    split("", known); split("", length_of); split("", reached); split("", seen)
    split("", place); split("", script_of); split("", told_until)
}
# Of a number of successes that is Poisson's, what is left over when they are told together.
function left_over(mean,    n, weight, sum, held) {
    if (mean > 50) return (at_once - 1) / 2
    weight = 1
    for (n = 0; n < 200; n++) { sum += weight; held += weight * (n % at_once); weight *= mean / (n + 1) }
    return held / sum
}
# What clients held back that told so many on average; as long as they had few, that is less than they hold later.
function held_back(told,    low, high, mean, n) {
    low = told; high = told + at_once
    for (n = 0; n < 40; n++) {
        mean = (low + high) / 2
        if (mean - left_over(mean) < told) low = mean; else high = mean
    }
    return left_over(mean)
}
function add_held(    row, script, all, of, each) {
    for (row = 1; row <= rows; row++) for (script = 3; script <= 6; script++) {
        of[script] += done[row, script]
        all += done[row, script]
    }
    if (!all) return
    each = held_back(all / clients)
    for (script in of) done[rows, script] += int(of[script] / all * clients * each + 0.5)
}
function add_refused(script, ran,    row, until, was_done, was_refused, due) {
    for (row = 1; row <= rows; row++) {
        until += ended[row]
        was_done += done[row, script]
        due = int(ran * until / transactions - was_done - was_refused + 0.5)
        if (due > 0) { refused[row, script] = due; was_refused += due }
    }
}
function root(x,    found, n) {
    found = x > 1 ? x : 1
    for (n = 0; n < 50; n++) found = (found + x / found) / 2
    return found
}
FNR == 1 {
    if (NR > 1) end_thread()
    split(FILENAME, name, ".")
    begin_thread(name[3] + 0)
}
"""
    + COUNT_AWK
    + """\
$1 $2 $6 ~ /[^0-9]/ || $1 + 0 >= clients { kinds["unreadable"]++; next }
{
    moment = $5 + $6 / 1000000
    read_marks($1, $2 + 0)
    is_write = $4 == 3 || $4 == 5 || $4 == 6
    is_untold = is_write && $1 in told_until && $2 + 0 > told_until[$1]
    is_refused = is_write && !is_untold && !has_succeeded($1, $2 + 0)
    reach($1, $2 + 0, moment)
    row = int(moment - start) + 1
    if (row < 1) row = 1
    if (row > rows) row = rows
    if (is_refused && every == 1) refused[row, $4]++
    if ($3 ~ /^[0-9]+$/) { lines_of[row]++; us_of[row] += $3; squares_of[row] += $3 * $3 }
}
moment < start + warmup { next }
is_untold { kinds["untold-" $4]++; next }
is_refused { kinds["refused-" $4]++; next }
"""
    + "".join(f"$4 == {looked} {{ $4 = {script} }}\n" for looked, script in LOOKED_AT.items())
    + COUNT_LINE_AWK
    + """\
END {
    if (NR) end_thread()
    for (thread = 0; thread < threads; thread++) if (!(thread in is_read)) { begin_thread(thread); end_thread() }
    for (row = 1; row < rows; row++) before_last += ended[row]
    ended[rows] = transactions - before_last
    if (every > 1) {
        add_held()
        split(ran, of, ",")
        add_refused(3, of[1]); add_refused(5, of[2]); add_refused(6, of[3])
    }
    for (row = 1; row <= rows; row++) {
        took = row < rows ? 1 : seconds - rows + 1
        n = lines_of[row] ? lines_of[row] : 1
        mean = us_of[row] / n
        spread = squares_of[row] / n - mean * mean
        printf "progress: %.3f s, %.3f tps, lat %.3f ms stddev %.3f\\n", row - 1 + took, ended[row] / took, \
            mean / 1000, root(spread > 0 ? spread : 0) / 1000 > progress
        printf "%.3f %d %d %d %d %d %d %s %d\\n", row - 1 + took, refused[row, 3], done[row, 3], \
            refused[row, 5], done[row, 5], refused[row, 6], done[row, 6], \
            (row < rows ? "0 0 0 0" : reads), every > told
    }
    print "end 0 0 0 0 0 0 0 0 0" > told
}
"""
)


@dataclass(frozen=True, slots=True)
class Told:
    """The outcomes told until the line of progress at `at_s`, since the one before: counts by script.

    `refused` and `done` are of the writes of ACCEPTING, in that order. One in `every` reads was looked at, and only
    these are counted here.
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
    """Yield what REDUCE_AWK wrote, by line of progress. Raises ValueError if it is cut off."""
    lines = text.splitlines()
    if not lines or not lines[-1].startswith("end "):
        raise ValueError("What was told of the outcomes is cut off.")
    for line in lines[:-1]:
        at_s, *counts = line.split()
        f3, d3, f5, d5, f6, d6, *reads = (int(count) for count in counts)
        if len(reads) not in (4, 5):
            raise ValueError(f"What was told of the outcomes has {len(reads)} counts of reads.")
        yield Told(float(at_s), (f3, f5, f6), (d3, d5, d6), *reads)


def is_sample(count: int, total: int, share: float) -> bool:
    """Tell whether a random sample may give this count: within 5 deviations, and 1% for seconds cut otherwise."""
    return abs(count - share * total) <= 5 * math.sqrt(total * share * (1 - share)) + 0.01 * total + 1
