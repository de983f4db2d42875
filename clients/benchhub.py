#!/usr/bin/env python3
"""BenchHub from a CI job: push results, queue an experiment, wait for it, fetch its curves. Python 3.8, nothing else.

    export BENCHHUB_URL=https://bench.example.org BENCHHUB_TOKEN=bh_...
    benchhub.py push results.ndjson            # or - for stdin; each line a result, all or none
    benchhub.py pgbench out.log --like result.json --clients 8    # what pgbench printed, with what it does not say
    benchhub.py queue plan.json                # prints the address of the experiment
    benchhub.py wait 12                        # until all its runs have ended; exit code 1 unless all succeeded
    benchhub.py curve 12 > curve.csv

The same as a library:

    from benchhub import Client
    client = Client("https://bench.example.org", token)
    client.push([result, ...]); client.queue(plan); client.wait(12); client.curve(12)

A request that could not be sent, that came too often (429), or that a server in trouble answered (502, 503, 504), is
sent again with the same idempotency key, so that nothing is stored or queued twice.
"""

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

ATTEMPTS = 5
PASSING = (429, 502, 503, 504)
API = "/api/v1/"


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

    def wait(self, experiment, every_s=10, limit_s=None, report=None):
        """Wait until all runs have ended; return the experiment, or raise TimeoutError.

        `report` is called with the experiment at each look.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while True:
            status = self.experiment(experiment)
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
                with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
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
    push = _command(commands, "push", _push, "bring in results, a JSON object on each line")
    push.add_argument("file", help="NDJSON, or - for stdin")
    printed = _command(commands, "pgbench", _pgbench, "bring in what pgbench printed")
    printed.add_argument("file", help="its stdout, or - for stdin")
    printed.add_argument("--like", required=True, help="JSON with what pgbench does not say (see docs/api.md)")
    printed.add_argument("--clients", type=int, help="in place of that in --like")
    printed.add_argument("--measured-at", metavar="TIME", help="in place of that in --like: 2026-01-31T02:00:00Z")
    queue = _command(commands, "queue", _queue, "plan an experiment and queue it")
    queue.add_argument("file", help="JSON, or - for stdin")
    wait = _command(commands, "wait", _wait, "wait until an experiment has ended")
    wait.add_argument("experiment", type=int)
    wait.add_argument("--limit", type=float, metavar="SECONDS")
    wait.add_argument("--every", type=float, default=10, metavar="SECONDS")
    curve = _command(commands, "curve", _curve, "print the curves of an experiment as CSV")
    curve.add_argument("experiment", type=int)
    return parser


def _command(commands, name, does, words):
    parser = commands.add_parser(name, help=words)
    parser.set_defaults(does=does)
    return parser


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
    return _write_delivery(client.push(_text(arguments.file).splitlines()))


def _pgbench(client, arguments):
    result = {**_json(arguments.like), "output": {"stdout": _text(arguments.file)}}
    if arguments.clients:
        result["clients"] = arguments.clients
    if arguments.measured_at:
        result["measured_at"] = arguments.measured_at
    return _write_delivery(client.push([result]))


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


def _curve(client, arguments):
    sys.stdout.write(client.curve(arguments.experiment))
    return 0


if __name__ == "__main__":
    sys.exit(main())
