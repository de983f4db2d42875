#!/usr/bin/env python3
"""BenchHub from a CI job: push results, queue an experiment, wait for it, fetch its curves. Python 3.8, nothing else.

    export BENCHHUB_URL=https://bench.example.org BENCHHUB_TOKEN=bh_...
    benchhub.py push results.ndjson            # or - for stdin; each line a result, all or none
    benchhub.py run --like result.json -- pgbench -S -c 8 -j 8 -T 60 bench    # runs it, and imports what it printed
    benchhub.py pgbench out.log --like result.json    # what pgbench printed, with what it does not say
    benchhub.py queue plan.json                # prints the address of the experiment
    benchhub.py wait 12                        # until all its runs have ended; exit code 1 unless all succeeded
    benchhub.py curve 12 > curve.csv
    sadf -j sa31 -- -A | benchhub.py telemetry 102 -    # what sysstat noted, beside run 102

The same as a library:

    from benchhub import Client
    client = Client("https://bench.example.org", token)
    client.push([result, ...]); client.queue(plan); client.wait(12); client.curve(12); client.telemetry(102, text)

A request that could not be sent, that came too often (429), or that a server in trouble answered (502, 503, 504), is
sent again with the same idempotency key, so that nothing is stored or queued twice.
"""

import argparse
import contextlib
import getopt
import http.client
import json
import math
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

ATTEMPTS = 5
PASSING = (429, 502, 503, 504)
API = "/api/v1/"
LARGEST = {"stdout": 1_000_000, "stderr": 4_000_000}  # bytes that BenchHub takes of each stream
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
CONDITIONS = (
    "experiment", "source", "workload", "client_version", "clients", "repeat", "duration_s", "warmup_s", "thread_rule",
    "rate_tps",
)  # fmt: skip
SYSTEM = ("host", "driver", "hardware", "configuration", "postgresql", "path", "label")
NUMBERS = ("clients", "repeat", "duration_s", "warmup_s", "rate_tps")
PRINTED = {
    "client_version": r"^pgbench \(([0-9]+(?:\.[0-9]+|devel|beta[0-9]+|rc[0-9]+)+)",
    "clients": r"^number of clients: ([0-9]{1,9})$",
    "thread_rule": r"^number of threads: ([0-9]{1,9})$",
    "duration_s": r"^duration: ([0-9]{1,9}) s$",
}
# Of a run of so many transactions (-t): its count, and its rates, of which the lowest has connecting in it.
PROCESSED = r"^number of transactions actually processed: ([0-9]{1,18})/"
TPS = r"^tps = ([0-9]{1,12}(?:\.[0-9]{1,12})?) \("
SERVER_VERSION = r"^pgbench \([^\n]*server ([0-9]+(?:\.[0-9]+|devel|beta[0-9]+|rc[0-9]+)+)"
PGBENCH_OPTIONS = "b:c:CD:f:F:h:j:lL:M:nNp:P:rR:s:St:T:U:v"
PGBENCH_WORDS = (
    "aggregate-interval= builtin= client= connect dbname= debug define= exit-on-abort failures-detailed file= host= "
    "jobs= latency-limit= log log-prefix= max-tries= no-vacuum port= progress= progress-timestamp protocol= "
    "random-seed= rate= report-latencies report-per-command sampling-rate= scale= select-only skip-some-updates time= "
    "transactions= username= vacuum-all verbose-errors"
)
SETTINGS = (
    "SELECT json_object_agg(name, left(current_setting(name), 4000)) FROM pg_settings "
    "WHERE name !~ 'conninfo|command|passphrase'"
)


class Refused(Exception):  # noqa: N818  # a name for scripts
    """The server's answer: `status`, and `problem` as RFC 9457 says."""

    def __init__(self, status, problem):
        self.status, self.problem = status, problem
        super().__init__(self._text())

    def _text(self):
        lines = [f"{self.problem.get('title', 'Refused')} ({self.status}). {self.problem.get('detail', '')}"]
        for error in self.problem.get("errors", []):
            line = f"line {error['line']}, " if "line" in error else ""
            lines.append(f"  {line}{error.get('pointer') or 'the whole'}: {error.get('detail')}")
        return "\n".join([*lines, str(self.problem.get("remedy", ""))]).strip()


class Client:
    def __init__(self, url, token, timeout_s=60):
        if url and not url.lower().startswith(("https://", "http://")):
            raise ValueError(f"'{url}' is no address of BenchHub: write https://benchhub.example.org")
        self.url, self.token, self.timeout_s = url.rstrip("/"), token, timeout_s

    def push(self, results, key=None):
        """Store results that were measured elsewhere, all or none; returns the delivery."""
        lines = "\n".join(result if isinstance(result, str) else json.dumps(result) for result in results)
        return self.call("POST", "deliveries/", lines.encode(), "application/x-ndjson", key=key)

    def queue(self, plan, key=None):
        """Plan an experiment and queue its runs; returns it. Its `id` is what wait and curve take."""
        return self.call("POST", "experiments/", json.dumps(plan).encode(), key=key)

    def experiment(self, experiment):
        return self.call("GET", f"experiments/{int(experiment)}/")

    def status(self, experiment):
        """Return an experiment as it stands; of a part of a design with the counts of all parts together."""
        status = self.experiment(experiment)
        if status["design"] is None:
            return status
        design = self.call("GET", f"designs/{status['design']}/")
        parts = [status if part == status["id"] else self.experiment(part) for part in design["experiments"]]
        counts = ("run_count", "ended_count", "bad_count", "cancelled_count")
        sums = {name: sum(part[name] for part in parts) for name in counts}
        return {**status, **sums, "is_over": all(part["is_over"] for part in parts)}

    def wait(self, experiment, every_s=10, limit_s=None, report=None):
        """Wait until all runs have ended, of a design those of all its parts; return the status or raise TimeoutError.

        `report` is called with the experiment at each look.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while True:
            status = self.status(experiment)
            if report:
                report(status)
            if status["is_over"]:
                return status
            if deadline is not None and time.monotonic() + every_s > deadline:
                raise TimeoutError(f"Experiment {experiment} has not ended after {limit_s} s.")
            time.sleep(every_s)

    def curve(self, experiment):
        """Return the curves of an experiment as CSV."""
        return self.call("GET", f"experiments/{int(experiment)}/curves/", accept="text/csv")

    def telemetry(self, run, content, key=None):
        """Add what sysstat noted, as sadf -j prints it, to a run that BenchHub did not observe; returns its source."""
        body = content.encode() if isinstance(content, str) else content
        return self.call("POST", f"runs/{int(run)}/telemetry/", body, "application/vnd.sysstat+json", key=key)

    def call(self, method, path, body=None, media_type="application/json", accept="application/json", key=None):
        """Send one request to the API and return its answer, read. Raises Refused, or OSError where nobody answers."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": f"{accept}, application/problem+json;q=0.5"}
        if body is not None:
            headers["Content-Type"] = media_type
        if method == "POST":
            headers["Idempotency-Key"] = key or str(uuid.uuid4())
        request = urllib.request.Request(self.url + API + path, body, headers, method=method)
        return self._sent(request)

    def _sent(self, request):
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:  # nosec B310
                    return _read(answer)
            except urllib.error.HTTPError as error:
                if error.code not in PASSING or attempt == ATTEMPTS:
                    raise Refused(error.code, _problem(error)) from None
            except OSError:
                if attempt == ATTEMPTS:
                    raise
            except http.client.HTTPException as error:
                if attempt == ATTEMPTS:
                    raise OSError(f"The answer broke off: {error!r}") from error
            time.sleep(min(30, 2**attempt))
        raise AssertionError("never here")


def _read(answer):
    text = answer.read().decode()
    is_json = answer.headers.get_content_type().endswith("json")
    return json.loads(text) if is_json and text else text


def _problem(error):
    text = error.read().decode(errors="replace")
    try:
        problem = json.loads(text)
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"title": error.reason, "detail": text[:300]}


# --- for the shell --------------------------------------------------------------------------------------------


def main(words=None):
    arguments = _parser().parse_args(words)
    if arguments.does is _run:  # without an address too: the result is then left in a file
        return _run(Client(arguments.url or "", arguments.token or ""), arguments)
    if not arguments.url or not arguments.token:
        sys.exit("Set BENCHHUB_URL and BENCHHUB_TOKEN, or give --url and --token.")
    client = Client(arguments.url, arguments.token)
    try:
        return arguments.does(client, arguments)
    except Refused as error:
        sys.exit(str(error))
    except (OSError, TimeoutError) as error:
        sys.exit(f"{arguments.url}: {error}")


def _parser():
    parser = argparse.ArgumentParser(prog="benchhub.py", description=__doc__.splitlines()[0])
    parser.add_argument("--url", default=os.environ.get("BENCHHUB_URL"))
    parser.add_argument("--token", default=os.environ.get("BENCHHUB_TOKEN"), help="better in the environment")
    commands = parser.add_subparsers(required=True, metavar="command")
    push = _command(commands, "push", _push, "import results, a JSON object on each line")
    push.add_argument("file", help="NDJSON, or - for stdin")
    _stream_options(push)
    run = _command(commands, "run", _run, "run a load generator, and import what it printed")
    run.add_argument("--like", help="JSON with what it does not say (see docs/api.md); options go before it")
    for name in (*CONDITIONS, *SYSTEM):
        variable = f"BENCHHUB_{name.upper()}"
        kind = int if name in NUMBERS else str
        run.add_argument(_option(name), default=os.environ.get(variable) or None, type=kind, help=f"or {variable}")
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="-- command", help="the command, with its words")
    printed = _command(commands, "pgbench", _pgbench, "import what pgbench printed, in one run or several")
    printed.add_argument("file", help="its stdout, or - for stdin")
    printed.add_argument("--like", required=True, help="JSON with what pgbench does not say (see docs/api.md)")
    printed.add_argument("--clients", type=int, help="in place of that in --like")
    printed.add_argument("--rate-tps", type=int, help="what was offered (-R), in place of that in --like")
    _stream_options(printed)
    printed.add_argument("--measured-at", metavar="TIME", help="in place of that in --like: 2026-01-31T02:00:00Z")
    queue = _command(commands, "queue", _queue, "plan an experiment and queue it")
    queue.add_argument("file", help="JSON, or - for stdin")
    wait = _command(commands, "wait", _wait, "wait until an experiment has ended")
    wait.add_argument("experiment", type=int)
    wait.add_argument("--limit", type=float, metavar="SECONDS")
    wait.add_argument("--every", type=float, default=10, metavar="SECONDS")
    curve = _command(commands, "curve", _curve, "print the curves of an experiment as CSV")
    curve.add_argument("experiment", type=int)
    telemetry = _command(commands, "telemetry", _telemetry, "add what sysstat noted to a run")
    telemetry.add_argument("run", type=int)
    telemetry.add_argument("file", help="what sadf -j FILE -- -A printed, or - for stdin")
    return parser


def _option(name):
    return "--" + name.replace("_s", "") if name.endswith("_s") else "--" + name.replace("_", "-")


def _stream_options(parser):
    parser.add_argument("--stderr", metavar="FILE", help="what it wrote to stderr")
    parser.add_argument("--returncode", type=int, metavar="CODE", help="its exit code; left out, it is not known")


def _streams(arguments):
    streams = {} if arguments.stderr is None else {"stderr": _text(arguments.stderr)}
    return streams if arguments.returncode is None else {**streams, "returncode": arguments.returncode}


def _command(commands, name, does, words):
    parser = commands.add_parser(name, help=words)
    parser.set_defaults(does=does)
    return parser


def _bytes(name):
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        sys.exit(f"{name} cannot be read: {error}")


def _text(name):
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        sys.exit(f"{name} cannot be read: {error}")


def _json(name):
    try:
        return json.loads(_text(name))
    except ValueError as error:
        sys.exit(f"{name} is not JSON: {error}")


def _push(client, arguments):
    lines, streams = _text(arguments.file).splitlines(), _streams(arguments)
    return _write_delivery(client.push(_with_streams(lines, streams) if streams else lines))


def _with_streams(lines, streams):
    try:
        [result] = [json.loads(line) for line in lines if line.strip()]
        return [{**result, "output": {**result["output"], **streams}}]
    except (ValueError, KeyError, TypeError):
        sys.exit("--stderr and --returncode are of one result: push one line, with its output.")


def _pgbench(client, arguments):
    result = {**_json(arguments.like), "output": {"stdout": _text(arguments.file), **_streams(arguments)}}
    if arguments.clients:
        result["clients"] = arguments.clients
    if arguments.rate_tps:
        result["rate_tps"] = arguments.rate_tps
    if arguments.measured_at:
        result["measured_at"] = arguments.measured_at
    return _write_delivery(client.push([result]))


def _run(client, arguments):
    """Run the program, and import what it printed; return its own exit code, or 1 where only the import failed."""
    command = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not command:
        sys.exit("Write what to run after --: benchhub.py run --like result.json -- pgbench -c 8 -T 60 bench")
    like, facts = _json(arguments.like) if arguments.like else {}, _host_facts()
    settings = _server_settings(command)
    measured_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    output, is_whole = _watched(command)
    if output["returncode"]:
        print(f"benchhub: {command[0]} ended with {output['returncode']}: nothing was imported.", file=sys.stderr)
        return output["returncode"]
    result = {**_conditions(arguments, like, command, output["stdout"]), "measured_at": measured_at, "output": output}
    result["facts"], result["settings"] = {**facts, **like.get("facts", {})}, {**settings, **like.get("settings", {})}
    return _import(client, result) if is_whole else _keep(result, "It printed more than BenchHub takes.")


def _watched(command):
    """Run a command whose streams go to the terminal as well; return its output, and whether all of it was kept."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        print(f"{command[0]} cannot be run: {error}", file=sys.stderr)
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)
    for number in SIGNALS:
        signal.signal(number, lambda received, _: process.send_signal(received))
    streams = {"stdout": bytearray(), "stderr": bytearray()}
    threads = [threading.Thread(target=_copy, args=(process, name, content)) for name, content in streams.items()]
    for thread in threads:
        thread.start()
    code = process.wait()
    for thread in threads:
        thread.join()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    texts = {name: content[: LARGEST[name]].decode("utf-8", "replace") for name, content in streams.items()}
    is_whole = all(len(content) <= LARGEST[name] for name, content in streams.items())
    return {**texts, "returncode": code if code >= 0 else 128 - code}, is_whole


def _copy(process, name, content):
    source, terminal = getattr(process, name), getattr(sys, name).buffer
    for block in iter(lambda: os.read(source.fileno(), 65536), b""):
        content += block[: LARGEST[name] + 1 - len(content)]
        with contextlib.suppress(OSError):  # nobody reads it any more; the program goes on
            terminal.write(block)
            terminal.flush()


def _conditions(arguments, like, command, stdout):
    """Return what is said of the run: by option or environment, in the file, else as it printed and by this machine."""
    options = {name: value for name, value in vars(arguments).items() if value is not None}
    options.update({"duration_s": options.get("duration"), "warmup_s": options.get("warmup")})
    result = {**_printed(stdout), "source": _source(), **like, **_offered(command)}
    result.update({name: options[name] for name in CONDITIONS if options.get(name) is not None})
    server = re.search(SERVER_VERSION, stdout, re.M)
    system = {**_place(command), **like.get("system", {})}
    if "client_version" in result:  # pgbench names the server's version only where it is another
        system.setdefault("postgresql", server.group(1) if server else result["client_version"])
    result["system"] = {**system, **{name: options[name] for name in SYSTEM if name in options}}
    return result


def _offered(command):
    """Return the rate that pgbench is told (-R), which it does not print; {} without one."""
    places = [place for place, word in enumerate(command) if Path(word).name == "pgbench"]
    options, _ = (_read_options(command[places[0] :]) if places else None) or ([], [])
    try:
        [*_, rate_tps] = [float(value) for name, value in options if name in ("-R", "--rate")]
    except ValueError:
        return {}
    if not math.isfinite(rate_tps):
        return {}
    return {"rate_tps": int(rate_tps) if rate_tps.is_integer() else rate_tps}


def _read_options(command):
    """Return options and words of a command, as pgbench reads them; None where it is not understood."""
    # From 17 on -d has a database, whose name begins with no dash; before, it asks for a debugging output.
    for letters in (PGBENCH_OPTIONS + "d:", PGBENCH_OPTIONS + "d"):
        with contextlib.suppress(getopt.GetoptError):
            options, words = getopt.gnu_getopt(command[1:], letters, PGBENCH_WORDS.split())
            if not any(name == "-d" and value.startswith("-") for name, value in options):
                return options, words
    return None


def _printed(stdout):
    """Return what the output says of its run; of several runs what all of them say, as BenchHub tells them apart."""
    values = {name: re.findall(pattern, stdout, re.M) for name, pattern in PRINTED.items()}
    if values["thread_rule"] == values["clients"]:
        values["thread_rule"] = []
    texts = {name: numbers[0] for name, numbers in values.items() if len(set(numbers)) == 1}
    return {**_lasted(stdout), **{name: int(text) if name in NUMBERS else text for name, text in texts.items()}}


def _lasted(stdout):
    """Return how long a run of so many transactions took, which its output says by count and rate; {} of several."""
    counts, rates = re.findall(PROCESSED, stdout, re.M), [float(text) for text in re.findall(TPS, stdout, re.M)]
    if len(counts) != 1 or not rates or not min(rates):
        return {}
    return {"duration_s": max(1, round(int(counts[0]) / min(rates)))}


def _source():
    variables = os.environ
    if "GITHUB_RUN_ID" in variables:
        return "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}".format_map(variables)
    return variables.get("CI_JOB_URL") or variables.get("BUILD_URL") or platform.node()


def _connection(command):
    """Return how pgbench is told to connect: options of psql; None where the command is not understood."""
    read = _read_options(command)
    if read is None:
        return None
    options, words = read
    letters = {"--host": "-h", "--port": "-p", "--username": "-U", "--dbname": "-d"}
    values = {letters.get(name, name): value for name, value in options}
    connection = {name: values[name] for name in letters.values() if values.get(name)}
    return {**connection, **({"-d": words[0]} if words else {})}


def _place(command):
    """Return where server and load generator are, as far as the command says it."""
    connection, here = _connection(command), platform.node()[:60]
    if connection is None:
        return {"driver": here}
    host = connection.get("-h") or os.environ.get("PGHOST", "")
    if not host or host.startswith("/"):
        return {"host": here, "path": "socket"}
    is_here = host in ("localhost", "127.0.0.1", "::1")
    return {"host": here, "path": "loopback"} if is_here else {"host": host[:60], "driver": here}


def _server_settings(command):
    """Return the server's settings by psql, which connects as pgbench does; empty where it cannot."""
    connection = _connection(command)
    if Path(command[0]).name != "pgbench" or connection is None:
        return {}
    words = [word for option in connection.items() for word in option]
    psql = [str(Path(command[0]).with_name("psql")), "-X", "-w", "-A", "-t", *words, "-c", SETTINGS]
    try:
        done = subprocess.run(psql, stdin=subprocess.DEVNULL, capture_output=True, timeout=15, check=True)
        return json.loads(done.stdout.decode())
    except (OSError, ValueError, subprocess.SubprocessError):
        print("benchhub: the server's settings could not be read by psql; they are left out.", file=sys.stderr)
        return {}


def _host_facts():
    """Return what a user without rights can tell of this machine."""
    facts = {"system": platform.system(), "kernel": platform.release(), "architecture": platform.machine()}
    facts["logical_cpus"] = os.cpu_count()
    for name, path, pattern in (
        ("cpu_model", "/proc/cpuinfo", r"^model name\s*: (.+)$"),
        ("memory_kib", "/proc/meminfo", r"^MemTotal:\s*([0-9]+) kB$"),
        ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", r"^(\w+)$"),
        ("load_before", "/proc/loadavg", r"^([0-9.]+)"),
    ):
        with contextlib.suppress(OSError, ValueError):
            if match := re.search(pattern, Path(path).read_text(encoding="utf-8"), re.M):
                facts[name] = match.group(1)
    return facts


def _import(client, result):
    if not client.url or not client.token:
        return _keep(result, "Neither BENCHHUB_URL and BENCHHUB_TOKEN nor --url and --token are set.")
    try:
        return _write_delivery(client.push([result]))
    except (Refused, OSError) as error:
        return _keep(result, f"{client.url}: {error}")


def _keep(result, reason):
    """Leave a result that could not be imported in a file, and say how to import it later."""
    name = f"benchhub-{time.strftime('%Y%m%dT%H%M%S')}-{uuid.uuid4().hex[:8]}.ndjson"
    Path(name).write_text(json.dumps(result) + "\n", encoding="utf-8")
    print(f"{reason}\nThe result is kept in {name}. To import it: benchhub.py push {name}", file=sys.stderr)
    return 1


def _write_delivery(delivery):
    for address in delivery["experiments"]:
        print(address)
    return 0


def _queue(client, arguments):
    print(client.queue(_json(arguments.file))["url"])
    return 0


def _wait(client, arguments):
    def report(status):
        print(f"{status['ended_count']} of {status['run_count']} runs have ended.", file=sys.stderr)

    status = client.wait(arguments.experiment, arguments.every, arguments.limit, report)
    return 1 if status["bad_count"] or status["cancelled_count"] else 0


def _telemetry(client, arguments):
    source = client.telemetry(arguments.run, _bytes(arguments.file))
    print(
        f"{source['sample_count'] - source['outside_count']} of {source['sample_count']} samples lie within the load."
    )
    for doubt in source["doubts"]:
        print(f"Doubt: {doubt}", file=sys.stderr)
    return 0


def _curve(client, arguments):
    sys.stdout.write(client.curve(arguments.experiment))
    return 0


if __name__ == "__main__":
    sys.exit(main())
