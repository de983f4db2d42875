"""TATP's commands as POSIX sh text: pgbench, psql and awk do all of it on the driver.

Everything a person may have chosen goes through shlex.quote. No command uses `exit` but in a subshell, so that the
caller can put further lines after it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from runners.contract import RunSpec
from runners.tools import sampling
from runners.tools.shell import program, psql, verified

from . import population
from .log import REDUCE_AWK, SPAN_AWK, SPLIT_AWK
from .parameters import ACCEPTING, LONGEST_FORWARDING, Parameters, check
from .scripts import MOST_TOLD_AT_ONCE, VARIABLES_READY, Script, scripts

PART_SUBSCRIBERS = 20_000
MOST_SESSIONS = 8
KEPT_LOG_CAP_BYTES = 1024 * 1024
# Of a slow load every read is looked at; of others one in so many that some READ_LOOKS_PER_S are, or of the most.
SLOW_LOAD_TPS, READ_LOOKS_PER_S, MOST_READS_TO_A_LOOK = 5_000, 250, 64
# Plans that do not say how fast a load may be had its log sampled to so many lines.
LINES_PER_S = 2_000
# So many writes each client must be expected to send, that what it holds back at the end is little.
WRITES_TO_TELL_TOGETHER = 200
# Rarer ones lie too far apart for it, and cost little.
LEAST_SHARE_TOLD_TOGETHER = 0.03
# To the first look at a running load; then twice as long each time, up to at least the second.
LIVE_FIRST_S, LIVE_EVERY_S = 3, 20

# Waits for the processes in $pids and empties it; fails as the last that failed.
ALL_ENDED = """\
pids=
all_ended() { rc=0; for pid in $pids; do wait "$pid" || rc=$?; done; pids=; return $rc; }
"""

DISTRIBUTIONS_FILE = "tatp.distributions"
BEFORE_FILE, AFTER_FILE = "tatp.before", "tatp.after"
MESSAGES_FILE, PROGRESS_FILE, TOLD_FILE, LATENCY_FILE = "tatp.messages", "tatp.progress", "tatp.told", "tatp.latency"
MARKS_FILE = "marks"


def load_command(spec: RunSpec) -> str:
    """Return the command that makes the population in several sessions, then its keys, and checks what it made."""
    parameters = check(spec)
    vacuum = _side_by_side(spec, [f"VACUUM ANALYZE {table}" for table in population.TABLES])
    steps = (_tables(spec), _rows(spec, parameters), _keys(spec), vacuum, _marked(spec, parameters))
    return f"""\
(
begun=$(date +%s)
{ALL_ENDED}{"".join(steps)}echo "loaded in $(($(date +%s) - begun)) s by $sessions sessions" >&2
)
code=$?
rm -f populate.sql parts.loaded
if [ "$code" -eq 0 ]; then
(
{verify_command(spec)})
else
(exit "$code")
fi
"""


# The steps of a load: lines that leave the subshell around them where something failed, and go on in it otherwise.


def _tables(spec: RunSpec) -> str:
    return f"""\
{psql(spec)} -f - <<'END_OF_SQL' || exit
{population.CREATE_SQL}END_OF_SQL
"""


def _rows(spec: RunSpec, parameters: Parameters) -> str:
    """Load the population in parts, each in a transaction of its own, dealt out to sessions, one for each core."""
    parts = -(-parameters.subscribers // PART_SUBSCRIBERS)
    return f"""\
cat > populate.sql <<'END_OF_SQL' || exit
{population.populate_sql(parameters)}END_OF_SQL
populate() {{
    part=$1
    while [ "$part" -lt {parts} ]; do
        first=$((part * {PART_SUBSCRIBERS} + 1)) last=$(((part + 1) * {PART_SUBSCRIBERS}))
        [ "$last" -le {parameters.subscribers} ] || last={parameters.subscribers}
        {psql(spec)} -v first="$first" -v last="$last" -f populate.sql || return
        echo >> parts.loaded
        echo "progress: $(($(wc -l < parts.loaded))) of {parts} parts of the population are loaded" >&2
        part=$((part + sessions))
    done
}}
sessions=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
[ "$sessions" -le {MOST_SESSIONS} ] || sessions={MOST_SESSIONS}
session=0
while [ "$session" -lt "$sessions" ]; do
    populate "$session" & pids="$pids $!"
    session=$((session + 1))
done
all_ended || exit
"""


def _keys(spec: RunSpec) -> str:
    """Make the primary keys side by side, then the foreign keys that rest on them, each of which locks two tables."""
    foreign_keys = "".join(f"{psql(spec, sql)} || exit\n" for sql in population.FOREIGN_KEYS_SQL)
    return "".join(
        (
            _progress("the primary keys are made"),
            _side_by_side(spec, population.KEYS_SQL.values()),
            _progress("the foreign keys are made"),
            foreign_keys,
        )
    )


def _marked(spec: RunSpec, parameters: Parameters) -> str:
    """Count what the parser holds against the definition, and only then mark the population as complete."""
    comment_sql = f"COMMENT ON TABLE subscriber IS '{population.mark(parameters)}'"
    return f"""\
{_progress("the population is checked")}\
{psql(spec, population.distributions_sql())} > {DISTRIBUTIONS_FILE} || exit
{psql(spec, comment_sql)} || exit
"""


def _side_by_side(spec: RunSpec, statements: Iterable[str]) -> str:
    return "".join(f'{psql(spec, sql)} & pids="$pids $!"\n' for sql in statements) + "all_ended || exit\n"


def _progress(content: str) -> str:
    return f"echo 'progress: {content}' >&2\n"


def verify_command(spec: RunSpec) -> str:
    """Return the command that exits 0 if the data set is as asked for, 1 if not, 2 if nobody can tell.

    It leaves tatp.before: the state of call_forwarding.
    """
    parameters = check(spec)
    before = f'[ "$rc" -ne 0 ] || {_state(spec, parameters)} > {BEFORE_FILE} || rc=$?\n'
    return verified(spec, "TATP", population.FOUND_SQL, population.expected_line(parameters), before)


def measure_command(spec: RunSpec) -> str:
    """Return the command that runs the load for warm-up and measured part together; its exit code is pgbench's.

    What pgbench says goes to a file, for outcomes are told there too; now and then the caller's stderr gets
    about how many transactions a second there were, by the numbers of those that each thread's log ends with. It leaves
    summary, started_epoch and log/pgbench_log.*.
    """
    parameters = check(spec)
    return f"""\
{live(spec.clients)}\
rc=0
{_scripts_ready(spec, parameters)}{sampling.share_kept(spec)}mkdir -p log && : > {MESSAGES_FILE} || (exit 1)
live 8>&- 9>&- & teller=$!
date +%s > started_epoch
{" ".join(_run_words(spec, parameters))} > summary 2> {MESSAGES_FILE} || rc=$?
kill "$teller" && wait "$teller" 2> /dev/null
cat summary
(exit "$rc")
"""


def live(clients: int) -> str:
    """Return a function that does little, as it shares a CPU with the load: one program is started for each look.

    Only the first of two lines is looked at, for the log may end within a line.
    """
    return f"""\
live() {{
    trap 'kill $pause; exit' TERM
    seconds=0 pause_s={LIVE_FIRST_S}
    while :; do
        sleep "$pause_s" & pause=$!
        wait "$pause"
        seconds=$((seconds + pause_s)) ended=0 threads=0 is_first=1
        while read -r client number others; do
            if [ "$client" = '==>' ]; then
                is_first=1
            elif [ "$is_first" = 1 ] && [ "$number" -gt 0 ] 2> /dev/null; then
                ended=$((ended + number)) threads=$((threads + 1)) is_first=0
            fi
        done <<END_OF_LINES
$(tail -n 2 log/* 2> /dev/null)
END_OF_LINES
        [ "$pause_s" -ge {LIVE_EVERY_S} ] || pause_s=$((2 * pause_s))
        [ "$threads" -eq 0 ] ||
            echo "progress: $seconds s, about $((ended * {clients} / threads / seconds)) tps" >&2
    done
}}
"""


def pilot_command(spec: RunSpec) -> str:
    """Return the command that runs the load unlogged for `pilot_s`, and chooses the share to log by its rate."""
    if not spec.pilot_s:
        return ""
    parameters = check(spec)
    pgbench = " ".join(_unlogged_words(spec, parameters, spec.pilot_s))
    load = f"{_scripts_ready(spec, parameters)}{pgbench} > {sampling.PILOT_FILE} 2> /dev/null\n"
    return load + sampling.share_command(spec, sampling.PILOT_FILE)


def _run_words(spec: RunSpec, parameters: Parameters) -> list[str]:
    words = _unlogged_words(spec, parameters, spec.warmup_s + spec.duration_s)
    return [*words, "-l", "--log-prefix=log/pgbench_log", *sampling.share_words(spec)]


def _unlogged_words(spec: RunSpec, parameters: Parameters, seconds: int) -> list[str]:
    words = [program(spec, "pgbench"), "-n", "-M", "prepared", "-c", str(spec.clients), "-j", str(spec.threads)]
    words += ["-T", str(seconds)]
    words += [word for name in VARIABLES_READY for word in ("-D", f"{name}=0")]
    for number, script in enumerate(_sent(spec, parameters)):
        words += ["-f", f"script_{number}.sql@{script.weight}"]
    return words


def _scripts_ready(spec: RunSpec, parameters: Parameters) -> str:
    """Return lines that end in &&: a script that a full disk cut short must not be run."""
    texts = [shlex.quote(script.text) for script in _sent(spec, parameters)]
    return "".join(f"printf '%s' {text} > script_{number}.sql &&\n" for number, text in enumerate(texts))


def _sent(spec: RunSpec, parameters: Parameters) -> tuple[Script, ...]:
    return scripts(parameters, reads_every(spec), told_at_once(spec, parameters))


def reads_every(spec: RunSpec) -> int:
    """Return k where one in k of the reads looks whether there was a row.

    Where the log is a sample, it cannot tell when writes were refused: that goes with looking at all reads.
    """
    if spec.log_sampling_rate >= 1 and _expected_tps(spec) <= SLOW_LOAD_TPS:
        return 1
    return max(2, min(MOST_READS_TO_A_LOOK, round(_expected_tps(spec) / READ_LOOKS_PER_S)))


def _expected_tps(spec: RunSpec) -> float:
    if spec.expected_tps or spec.log_sampling_rate >= 1:
        return spec.expected_tps
    return LINES_PER_S / spec.log_sampling_rate


def told_at_once(spec: RunSpec, parameters: Parameters) -> int:
    """Return how many successes of writes a client tells together: several in a fast load, which has many to tell."""
    if reads_every(spec) == 1:
        return 1
    weights = parameters.weighed
    share = sum(weights[number] for number in ACCEPTING) / sum(weights)
    if share < LEAST_SHARE_TOLD_TOGETHER:
        return 1
    transactions = _expected_tps(spec) * (spec.warmup_s + spec.duration_s)
    return MOST_TOLD_AT_ONCE if share * transactions >= WRITES_TO_TELL_TOGETHER * spec.clients else 1


def reduce_command(spec: RunSpec) -> str:
    """Return the command that reduces the log and what was told, and looks at call_forwarding again.

    It leaves tatp.messages without what was told, tatp.progress, tatp.told and tatp.latency (or tatp.error, why there
    are none), tatp.after, and log.gz (or log.dropped, the bytes that were too many to keep).
    """
    parameters = check(spec)
    awk = f"awk -v marks={MARKS_FILE} -v clients={spec.clients} -v at_once={told_at_once(spec, parameters)}"
    split = f"{awk} -v reads=reads {shlex.quote(SPLIT_AWK)}"
    reduce = f"{awk} -v threads={spec.threads} -v warmup={spec.warmup_s}"
    reduce += f" -v every={reads_every(spec)} -v progress=progress.part -v told=told.part"
    return f"""\
{_state(spec, parameters)} > {AFTER_FILE}
mv {MESSAGES_FILE} said
{split} said > {MESSAGES_FILE} 2> tatp.error
tail -n 20 {MESSAGES_FILE} >&2
logs=$(ls log/pgbench_log.* 2> /dev/null)
if [ -n "$logs" ]; then
    span=$({{ cat summary; for log in $logs; do tail -n 1 "$log"; done; }} | awk {shlex.quote(SPAN_AWK)} 2>> tatp.error)
    if [ -n "$span" ] && {reduce} $span -v reads="$(cat reads)" {shlex.quote(REDUCE_AWK)} $logs \\
        > latency.part 2>> tatp.error; then
        mv latency.part {LATENCY_FILE}
        mv progress.part {PROGRESS_FILE}
        mv told.part {TOLD_FILE}
    fi
    bytes=$(($(cat $logs {MARKS_FILE} | wc -c)))
    if [ "$bytes" -gt {KEPT_LOG_CAP_BYTES} ] || ! cat $logs | gzip > log.gz ||
        ! gzip -c {MARKS_FILE} > {MARKS_FILE}.gz; then
        rm -f log.gz {MARKS_FILE}.gz
        echo "$bytes" > log.dropped
    fi
fi
[ -s tatp.error ] || rm -f tatp.error
rm -rf log {MARKS_FILE} reads said summary latency.part progress.part told.part
"""


def throughput_command(spec: RunSpec) -> str:
    """Return the command that prints MQTh by the tool's rule, as the parser reads it from the reduced files."""
    return f"""\
awk -v from={spec.warmup_s - 0.5} '
FNR == NR {{ refused[FNR] = $2 + $4 + $6; next }}
/^progress: / {{
    took = $2 - before; before = $2; n++
    if (before - took > from) {{ seconds += took; ended += $4 * took; lost += refused[n] }}
}}
END {{
    if (!seconds) exit 1
    printf "MQTh = %.1f (in %.1f s %.0f transactions ended, ", (ended - lost) / seconds, seconds, ended
    printf "of which %d were writes that were refused)\\n", lost
}}' {TOLD_FILE} {PROGRESS_FILE}
"""


def _state(spec: RunSpec, parameters: Parameters) -> str:
    return psql(spec, population.STATE_SQL.format(longest=LONGEST_FORWARDING[parameters.population]))
