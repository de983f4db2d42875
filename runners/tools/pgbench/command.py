"""pgbench's commands as POSIX sh text, and the SQL that looks at its data set.

Every word that a person may have chosen goes through shlex.quote. No command uses `exit`, so that the caller
can put further lines after it: `(exit N)` sets the exit code.
"""

from __future__ import annotations

import shlex

from runners.contract import RunSpec
from runners.tools import sampling
from runners.tools.seconds import SECONDS_AWK, SECONDS_FILE
from runners.tools.shell import SCRIPT_REFUSED, program, psql, verified

from .check import check_command
from .log import REDUCE_AWK
from .pacing import live, scripts, segments
from .pacing.layers import at_first_rate, layer_spec
from .pacing.segments import SEGMENTS_AWK, SEGMENTS_FILE, START_FILE
from .pacing.shape import Layer, Shape
from .pacing.think import AWK as THINK_AWK
from .parameters import ACCOUNTS_PER_SCALE, Parameters, arguments, check, init_digest, version_of

KEPT_LOG_CAP_BYTES = 1024 * 1024
INIT_MARK = "BenchHub init "
WARMUP_FILE = "warmup.out"
# psql tells the line after the error; where the server knows of none, it tells something else or nothing.
INIT_AWK = r"""
message != "" {
    where = /^LINE [0-9]+: / ? ", line " ($2 + 0) : ""
    print "Init script" where ": error: " message
    message = ""
    if (where != "") next
}
/^ERROR:  / { message = substr($0, 9); next }
{ print }
END { if (message != "") print "Init script: error: " message }
"""
# The last segment of a load shape has what ended after it, too.
RATE_AWK = """\
$1 == "second" { seconds++ }
$1 == "segment" { ended += $4 }
END { if (!seconds) exit 1; printf "%.1f\\n", ended / seconds / share }
"""
TABLES = ("pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history")

AGE_QUERY = "SELECT count(*) FROM pgbench_history"

# One pass over each table; counts and sums of a freshly loaded data set depend on its scale alone.
FINGERPRINT_QUERY = """\
SELECT md5(concat_ws(' ', branches, tellers, accounts, history)) FROM
(SELECT concat_ws(',', count(*), sum(bid), sum(bbalance)) AS branches FROM pgbench_branches) AS b,
(SELECT concat_ws(',', count(*), sum(tid), sum(bid), sum(tbalance)) AS tellers FROM pgbench_tellers) AS t,
(SELECT concat_ws(',', count(*), sum(aid), sum(bid), sum(abalance)) AS accounts FROM pgbench_accounts) AS a,
(SELECT concat_ws(',', count(*), sum(aid), sum(delta)) AS history FROM pgbench_history) AS h"""

# Every table but the history has the same fill factor and persistence, so the smallest speaks for them.
# A load that was cut off before its last step has no primary key.
FOUND_QUERY = """\
SELECT 'scale ' || (SELECT count(*) FROM pgbench_branches)
|| ', accounts ' || (SELECT coalesce(max(aid), 0) FROM pgbench_accounts)
|| ', primary keys ' || (SELECT count(*) FROM pg_index
    WHERE indisprimary AND indrelid = 'pgbench_accounts'::regclass)
|| ', foreign keys ' || (SELECT count(*) > 0 FROM pg_constraint
    WHERE contype = 'f' AND conrelid = 'pgbench_accounts'::regclass)
|| ', partitions ' || (SELECT count(*) FROM pg_inherits WHERE inhparent = 'pgbench_accounts'::regclass)
|| ', unlogged ' || (relpersistence = 'u')
|| ', fillfactor ' || coalesce(substring(array_to_string(reloptions, ',') from 'fillfactor=([0-9]+)'), '100')
|| ', init ' || coalesce(substring(obj_description(oid, 'pg_class') from 'BenchHub init (.*)'), 'none')
FROM pg_class WHERE oid = 'pgbench_branches'::regclass"""


def scripts_command(spec: RunSpec) -> str:
    """Return the command that exits 3 where a custom script cannot be read, with its line; empty without scripts."""
    parameters = check(spec)
    if not parameters.scripts:
        return ""
    written = scripts.write_own_command(parameters)
    return f"{written}{{\n{check_command(spec, parameters)}}} || exit {SCRIPT_REFUSED}\n"


def load_command(spec: RunSpec) -> str:
    """Return the command that makes the data set and then vacuums and analyses it."""
    parameters = check(spec)
    words = [program(spec, "pgbench"), "-i", "-n", "-q", "-s", str(parameters.scale)]
    words += arguments(parameters, is_of_data_set=True)
    mark = f"COMMENT ON TABLE pgbench_branches IS '{INIT_MARK}{init_digest(parameters)}'"
    inits = [_init(spec, parameters.init), psql(spec, mark)] if parameters.init else []
    # One statement per psql: VACUUM runs in no transaction, and old psql keeps only the last of several -c.
    vacuums = [psql(spec, f"VACUUM ANALYZE {table}") for table in TABLES]
    return " &&\n".join([" ".join(words), *inits, *vacuums]) + "\n"


def _init(spec: RunSpec, statements: str) -> str:
    filtered = f"awk {shlex.quote(INIT_AWK)} init.err >&2"
    return f"{{ {psql(spec, statements)} 2> init.err; rc=$?; {filtered}; rm -f init.err; (exit $rc); }}"


def verify_command(spec: RunSpec) -> str:
    """Return the command that exits 0 if the data set is as asked for, 1 if not, 2 if nobody can tell.

    Custom scripts are checked too: 3 where one cannot be read.
    """
    parameters = check(spec)
    script_check = f"""\
if [ "$rc" -eq 0 ]; then
{scripts.write_own_command(parameters)}{{
{check_command(spec, parameters)}}} || rc={SCRIPT_REFUSED}
fi
"""
    return verified(spec, "pgbench", FOUND_QUERY, _expected(parameters), script_check if parameters.scripts else "")


def _expected(parameters: Parameters) -> str:
    """Return what FOUND_QUERY says of these parameters' data set."""
    return (
        f"scale {parameters.scale}, accounts {parameters.scale * ACCOUNTS_PER_SCALE}, primary keys 1"
        f", foreign keys {_sql(parameters.foreign_keys)}, partitions {parameters.partitions}"
        f", unlogged {_sql(parameters.unlogged)}, fillfactor {parameters.fillfactor}, init {init_digest(parameters)}"
    )


def _sql(truth: bool) -> str:
    return "true" if truth else "false"


def warmup_command(spec: RunSpec) -> str:
    """Return the command that runs the load for `warmup_s`, unlogged; it prints to warmup.out and warmup.err.

    Only when it fails does its stderr go to the caller's too: the measured run's output stays by itself.
    """
    parameters = check(spec)
    # The warm-up of a load shape is at its first rate.
    own = at_first_rate(spec, parameters.shape) if parameters.shape else spec
    pgbench = " ".join(_run_words(own, check(own), spec.warmup_s))
    return f"""\
rc=0
{scripts.write_command(spec, parameters)}{pgbench} > {WARMUP_FILE} 2> warmup.err || rc=$?
if [ "$rc" -ne 0 ]; then cat warmup.err >&2; fi
(exit "$rc")
"""


def pilot_command(spec: RunSpec) -> str:
    """Return the command that chooses the share to log by what the warm-up printed, or by an unlogged load before it.

    Empty where nothing is to be chosen. A load that fails tells no rate, and fails again where it is measured.
    """
    if not spec.pilot_s or not spec.log_sampling_rate or check(spec).shape:
        return ""
    if spec.warmup_s:
        return sampling.share_command(spec, WARMUP_FILE)
    parameters = check(spec)
    pgbench = " ".join(_run_words(spec, parameters, spec.pilot_s))
    load = f"{scripts.write_command(spec, parameters)}{pgbench} > {sampling.PILOT_FILE} 2> pilot.err\n"
    return load + sampling.share_command(spec, sampling.PILOT_FILE)


def measure_command(spec: RunSpec) -> str:
    """Return the command that runs the load for `duration_s`; its exit code is pgbench's. It leaves started_epoch."""
    parameters = check(spec)
    if parameters.shape:
        return _shaped_command(spec, parameters, parameters.shape)
    words = _run_words(spec, parameters, spec.duration_s)
    folder = ""
    if spec.log_sampling_rate:
        words[1:1] = _log_words(spec)
        folder = f"mkdir -p log &&\n{sampling.share_kept(spec)}"
    return f"""\
rc=0
{scripts.write_command(spec, parameters)}{folder}date +%s > started_epoch &&
{" ".join(words)} || rc=$?
(exit "$rc")
"""


def _shaped_command(spec: RunSpec, parameters: Parameters, shape: Shape) -> str:
    """Return the command that runs the processes of a load shape; what they print comes out in their order at the end.

    Their progress is printed as one, meanwhile. Its exit code is that of the last process that failed.
    """
    own = shape.layers(spec.clients, spec.threads)
    layers = list(enumerate(own))
    starts = "".join(
        f"(sleep {layer.start_s}; exec {' '.join(_layer_words(spec, layer, number))}) > layer_{number}.out"
        f' 2>> layer_{number}.err &\nprocesses="$processes $!"\n'
        for number, layer in layers
    )
    outputs, errors = (" ".join(f"layer_{number}.{end}" for number, _ in layers) for end in ("out", "err"))
    logs = f"mkdir -p log &&\n{sampling.share_kept(spec)}" if spec.log_sampling_rate else ""
    return f"""\
rc=0
processes=
{scripts.write_command(spec, parameters)}{logs}date +%s > started_epoch && date +%s.%N > {START_FILE} || rc=1
if [ "$rc" -eq 0 ]; then
{live.begin_commands(own)}{starts}for process in $processes; do wait "$process" || rc=$?; done
{live.end_commands()}cat {outputs}
grep -h -v '^progress: ' {errors} >&2
rm -f {outputs} {errors}
fi
(exit "$rc")
"""


def _layer_words(spec: RunSpec, layer: Layer, number: int) -> list[str]:
    own = layer_spec(spec, layer)
    words = _run_words(own, check(own), layer.duration_s)
    if spec.log_sampling_rate:
        words[1:1] = ["-l", f"--log-prefix=log/pgbench_log.{number}", *sampling.share_words(spec)]
    return words


def _run_words(spec: RunSpec, parameters: Parameters, duration_s: int) -> list[str]:
    """Return pgbench's command line without logging, its words quoted."""
    version = version_of(spec.tool_version)
    words = [program(spec, "pgbench"), "-n", "-c", str(spec.clients), "-j", str(spec.threads)]
    words += ["-T", str(duration_s), "-M", parameters.query_mode]
    words += ["-P", "1"] if version >= (9, 4) else []
    words += arguments(parameters, is_of_data_set=False)
    think = parameters.think
    for name, value in sorted({**(parameters.variables or {}), **(think.variables() if think else {})}.items()):
        words += ["-D", shlex.quote(f"{name}={value}")]
    # By command, pgbench tells how long it slept.
    words += ["-r"] if think else []
    return words + list(scripts.words(parameters, version))


def _log_words(spec: RunSpec) -> list[str]:
    words = ["-l"]
    words += ["--log-prefix=log/pgbench_log"] if version_of(spec.tool_version) >= (10,) else []
    return words + sampling.share_words(spec)


def reduce_command(spec: RunSpec) -> str:
    """Return the command that reduces a run's log/pgbench_log.*; empty where nothing was logged.

    It leaves latency.seconds, latency.hist (or latency.error, why there is none) and log.gz (or log.dropped, the bytes
    that were too many to keep). It is not part of what is measured: awk would be counted as the load's own CPU time.
    """
    if spec.log_sampling_rate == 0:
        return ""
    awk, before, further = _log_programs(check(spec))
    latencies, by_second = (shlex.quote(before + program) for program in (REDUCE_AWK, SECONDS_AWK))
    # Before 10 there is no --log-prefix and the log lies in the current folder.
    is_new = version_of(spec.tool_version) >= (10,)
    gather = "" if is_new else "mv pgbench_log.* log/ 2> /dev/null\n"
    return f"""\
{gather}if ls log/pgbench_log.* > /dev/null 2>&1; then
    if {awk} {latencies} log/pgbench_log.* > latency.part 2> latency.error; then
        mv latency.part latency.hist && rm -f latency.error
    fi
    {awk} {by_second} log/pgbench_log.* > seconds.part 2> /dev/null && mv seconds.part {SECONDS_FILE}
{further}    bytes=$(($(cat log/pgbench_log.* | wc -c)))
    if [ "$bytes" -gt {KEPT_LOG_CAP_BYTES} ] || ! cat log/pgbench_log.* | gzip > log.gz 2> /dev/null; then
        rm -f log.gz
        echo "$bytes" > log.dropped
    fi
fi
rm -rf latency.part seconds.part log
"""


def throughput_command(spec: RunSpec) -> str:
    """Return the command that prints the rate of a load shape by its log; empty where pgbench prints the rate."""
    if not spec.log_sampling_rate or not check(spec).shape:
        return ""
    return f"""\
awk -v share="$(cat {sampling.SHARE_FILE})" {shlex.quote(RATE_AWK)} {SEGMENTS_FILE}
"""


def _log_programs(parameters: Parameters) -> tuple[str, str, str]:
    """Return awk with its values, what stands before its programs, and further lines that read the log."""
    if parameters.think:
        return f"awk {shlex.join(parameters.think.awk_values())}", THINK_AWK, ""
    if parameters.shape:
        awk = f"awk {segments.awk_values(parameters.shape)}"
        by_segment = f"    {awk} {shlex.quote(SEGMENTS_AWK)} log/pgbench_log.* > {SEGMENTS_FILE} 2> /dev/null\n"
        return awk, segments.AWK, by_segment
    return "awk", "", ""
