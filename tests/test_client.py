"""clients/benchhub.py as a CI job uses it: a process of its own, against a live server."""

import csv
import functools
import io
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from django.utils import timezone

from benchhub.accounts import tokens
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.bench.deliveries import EXAMPLE
from benchhub.bench import testing
from benchhub.bench.models import Design, Experiment, Run
from benchhub.catalog.models import Configuration, Hardware, Workload
from clients import benchhub as benchhub_client

CLIENT = Path(__file__).resolve().parent.parent / "clients" / "benchhub.py"


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """What the client could not deliver it keeps in the folder in which it is called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def token(transactional_db):
    Hardware.objects.create(name="CI machine", sockets=1, cores_per_socket=8)
    Configuration.objects.create(name="defaults")
    parameters = {"script": "select-only", "query_mode": "simple", "scale": 10}
    Workload.objects.create(name="select-only", tool="pgbench", parameters=parameters)
    expires_at = timezone.now() + timedelta(days=1)
    return tokens.issue(make_user("ci", Role.RUNNER), "ci", ["read", "ingest", "run"], expires_at)[1]


def call(url, token, *words, stdin=None):
    # -I: it must do without anything that is installed beside Python.
    environment = {"BENCHHUB_URL": url, "BENCHHUB_TOKEN": token}
    command = [sys.executable, "-I", str(CLIENT), *words]
    return subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True, timeout=240)


def test_results_are_pushed_and_their_curve_is_fetched(live_server, token, tmp_path):
    pushed = call(live_server.url, token, "push", "-", stdin=json.dumps(EXAMPLE))
    assert pushed.returncode == 0, pushed.stderr
    experiment = Experiment.objects.get()
    assert pushed.stdout == f"{live_server.url}/api/v1/experiments/{experiment.pk}/\n"
    (tmp_path / "like.json").write_text(json.dumps({k: v for k, v in EXAMPLE.items() if k != "output"}))
    printed = tmp_path / "out.log"
    printed.write_text(EXAMPLE["output"]["stdout"])
    more = call(live_server.url, token, "pgbench", str(printed), "--like", str(tmp_path / "like.json"))
    assert more.returncode == 0, more.stderr
    waited = call(live_server.url, token, "wait", str(experiment.pk))
    assert (waited.returncode, waited.stderr) == (0, "2 of 2 runs have ended.\n")
    rows = list(csv.DictReader(io.StringIO(call(live_server.url, token, "curve", str(experiment.pk)).stdout)))
    assert [(row["clients"], row["n"], float(row["median"])) for row in rows] == [("8", "2", 20004.0)]


def test_a_part_of_a_design_is_waited_for_until_all_parts_have_ended(live_server, token):
    system = testing.make_system("18", testing.make_host(), Hardware.objects.get())
    design = Design.objects.create(name="Two scales")
    parts = [testing.make_experiment([system], name=name, design=design) for name in ("1", "2")]
    runs = [testing.make_run(part, system, 1, 1) for part in parts]
    testing.succeeded(runs[0], 900.0)
    wait = functools.partial(call, live_server.url, token, "wait", str(parts[0].pk), "--every", "0.1")
    waited = wait("--limit", "0.2")
    assert waited.returncode == 1
    assert "1 of 2 runs have ended." in waited.stderr and "has not ended after 0.2 s" in waited.stderr
    testing.ended(runs[1], "failed")
    assert (wait().returncode, wait().stderr) == (1, "2 of 2 runs have ended.\n")


def test_when_it_was_measured_and_with_how_many_clients_may_be_said_beside_the_file(live_server, token, tmp_path):
    like = {k: v for k, v in EXAMPLE.items() if k not in ("output", "measured_at")} | {"clients": 4}
    (tmp_path / "like.json").write_text(json.dumps(like))
    command = ["pgbench", "-", "--like", str(tmp_path / "like.json"), "--clients", "8"]
    printed = EXAMPLE["output"]["stdout"]
    without = call(live_server.url, token, *command, stdin=printed)
    assert (without.returncode, Run.objects.count()) == (1, 0)
    assert "/measured_at: This field is required." in without.stderr
    unzoned = call(live_server.url, token, *command, "--measured-at", "2026-01-31T04:30:00", stdin=printed)
    assert (unzoned.returncode, Run.objects.count()) == (1, 0)
    assert "/measured_at: Write the time with its zone" in unzoned.stderr
    done = call(live_server.url, token, *command, "--measured-at", "2026-01-31T04:30:00+02:00", stdin=printed)
    assert done.returncode == 0, done.stderr
    run = Run.objects.get()
    assert (run.clients, run.started_at) == (8, datetime(2026, 1, 31, 2, 30, tzinfo=UTC))
    assert run.ended_at - run.started_at == timedelta(seconds=60)


def test_a_file_of_several_runs_becomes_a_result_for_each(live_server, token, tmp_path):
    like = {k: v for k, v in EXAMPLE.items() if k not in ("output", "clients")}
    (tmp_path / "like.json").write_text(json.dumps(like))
    printed = EXAMPLE["output"]["stdout"]
    halves = (("clients: 8", "clients: 4"), ("threads: 8", "threads: 4"), ("0.400 ms", "0.200 ms"))
    fewer = functools.reduce(lambda text, half: text.replace(*half), halves, printed)
    (tmp_path / "sweep.log").write_text(fewer + printed)
    pushed = call(live_server.url, token, "pgbench", str(tmp_path / "sweep.log"), "--like", str(tmp_path / "like.json"))
    assert pushed.returncode == 0, pushed.stderr
    assert list(Run.objects.order_by("position").values_list("clients", flat=True)) == [4, 8]
    (tmp_path / "sweep.sh").write_text(f"cat {tmp_path / 'sweep.log'} {tmp_path / 'sweep.log'}\n")
    options = ["--like", str(tmp_path / "like.json"), "--", "sh", str(tmp_path / "sweep.sh")]
    ran = call(live_server.url, token, "run", *options)
    assert "measured_at" in ran.stderr and ran.returncode == 1  # four runs of 60 s in no time
    assert Run.objects.count() == 2


def test_faults_are_told_by_line_and_nothing_is_stored(live_server, token):
    lines = "\n".join([json.dumps(EXAMPLE), json.dumps({**EXAMPLE, "clients": 4})])
    refused = call(live_server.url, token, "push", "-", stdin=lines)
    assert refused.returncode == 1
    assert "line 2, /clients: The output is of 8 clients, not of 4." in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not Run.objects.exists()


def test_a_plan_that_cannot_be_is_refused_in_words(live_server, token):
    refused = call(live_server.url, token, "queue", "-", stdin='{"name": "x"}')
    assert refused.returncode == 1 and "/systems: This field is required." in refused.stderr
    denied = call(live_server.url, "bh_wrong", "curve", "1")
    assert denied.returncode == 1 and "make a new one" in denied.stderr


@pytest.mark.parametrize(("words", "sentence"), [("{name", "is not JSON"), (None, "cannot be read")])
def test_a_file_that_is_none_or_no_json_is_named_and_nothing_is_sent(tmp_path, words, sentence):
    plan = tmp_path / "plan.json"
    if words is not None:
        plan.write_text(words)
    refused = call("http://127.0.0.1:9", "bh_x", "queue", str(plan))
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{plan} {sentence}") and "Traceback" not in refused.stderr


@pytest.mark.parametrize(("status", "length"), [(503, 19), (201, 1000)], ids=["503", "an answer that breaks off"])
def test_a_server_in_trouble_is_asked_again_with_the_same_key(status, length):
    keys = []

    class InTrouble(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            keys.append(self.headers["Idempotency-Key"])
            body = b'{"experiments": []}'
            is_first = len(keys) == 1
            self.send_response(status if is_first else 201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(length if is_first else len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), InTrouble)
    Thread(target=server.serve_forever, daemon=True).start()
    done = call(f"http://127.0.0.1:{server.server_port}", "bh_x", "push", "-", stdin="{}")
    server.shutdown()
    assert done.returncode == 0, done.stderr
    assert len(keys) == 2 and keys[0] == keys[1]


PRINTING = """import sys
sys.stdout.write(%r)
sys.stderr.write("progress: 1.0 s, 20004.0 tps, lat 0.400 ms stddev 0.010, 0 failed\\n")
sys.exit(%d)
"""

AT_RATE = (
    EXAMPLE["output"]["stdout"]
    .replace("processed: 1200000", "processed: 5990")
    .replace("tps = 20004.", "tps = 99.85")
    .replace(
        "latency average = 0.400 ms\n",
        "number of transactions skipped: 12 (0.200%)\n"
        "number of transactions above the 20.0 ms latency limit: 15/5990 (0.250%)\n"
        "latency average = 1.200 ms\nlatency stddev = 1.300 ms\n"
        "rate limit schedule lag: avg 0.400 (max 19.700) ms\n",
    )
)


@pytest.fixture
def like(tmp_path):
    names = ("experiment", "source", "workload", "system")
    (tmp_path / "like.json").write_text(json.dumps({name: EXAMPLE[name] for name in names}))
    return tmp_path / "like.json"


def printing(code=0, text=EXAMPLE["output"]["stdout"]):
    return [sys.executable, "-c", PRINTING % (text, code)]


def run_from(folder, url, token, *words):
    environment = {"BENCHHUB_URL": url, "BENCHHUB_TOKEN": token}
    command = [sys.executable, "-I", str(CLIENT), "run", *words]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=240)


def test_a_program_is_run_its_streams_are_passed_on_and_what_it_printed_is_imported(live_server, token, like):
    done = run_from(like.parent, live_server.url, token, "--like", str(like), "--repeat", "3", "--", *printing())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(EXAMPLE["output"]["stdout"])
    run = Run.objects.get()
    assert (run.clients, run.threads, run.repeat, run.spec["duration_s"]) == (8, 8, 3, 60)
    assert {file.name for file in run.attempts.get().evidence.all()} >= {"out.log", "err.log"}
    assert run.found.host["logical_cpus"] == os.cpu_count() and run.found.host["kernel"]
    assert not list(like.parent.glob("*.ndjson"))


def test_a_run_of_so_many_transactions_lasts_as_long_as_its_count_and_rate_say(live_server, token, like):
    text = EXAMPLE["output"]["stdout"].replace("duration: 60 s", "number of transactions per client: 150000")
    text = text.replace("processed: 1200000", "processed: 1200000/1200000")
    done = run_from(like.parent, live_server.url, token, "--like", str(like), "--", *printing(text=text))
    assert done.returncode == 0, done.stderr
    assert Run.objects.get().spec["duration_s"] == 60


@pytest.mark.parametrize(
    "text",
    [
        "number of transactions actually processed: 7/7\ntps = 1.2.3 (without initial connection time)\n",
        f"number of transactions actually processed: {'9' * 400}/7\ntps = 1.5 (without initial connection time)\n",
        f"number of clients: {'9' * 5000}\n",
    ],
)
def test_a_number_that_no_pgbench_prints_ends_in_no_traceback_and_the_result_is_kept(like, text):
    done = run_from(like.parent, "", "", "--like", str(like), "--", *printing(text=text))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    [file] = like.parent.glob("*.ndjson")
    assert not {"duration_s", "clients"} & json.loads(file.read_text()).keys()


def test_the_rate_that_pgbench_is_told_is_sent_as_no_output_says_it(live_server, token, like):
    program = like.parent / "pgbench"
    program.write_text(f"#!{sys.executable}\n{PRINTING % (AT_RATE, 0)}")
    program.chmod(0o755)
    command = ["env", "PGCONNECT_TIMEOUT=1", str(program), "-S", "-c", "8", "--rate=100", "-L", "20", "-T", "60"]
    done = run_from(like.parent, live_server.url, token, "--like", str(like), "--", *command)
    assert done.returncode == 0, done.stderr
    run = Run.objects.get()
    assert (run.rate_tps, run.experiment.rates_tps, run.experiment.latency_limit_us) == (100, [100], 20_000)


def test_a_rate_that_is_not_whole_is_refused_in_words_and_the_result_is_kept(live_server, token, like):
    program = like.parent / "pgbench"
    program.write_text(f"#!{sys.executable}\n{PRINTING % (AT_RATE, 0)}")
    program.chmod(0o755)
    command = [str(program), "-S", "-c", "8", "-R", "99.5", "-L20", "-T", "60"]
    done = run_from(like.parent, live_server.url, token, "--like", str(like), "--", *command)
    assert done.returncode == 1
    assert "/rate_tps: BenchHub has whole rates only" in done.stderr
    [file] = like.parent.glob("*.ndjson")
    assert json.loads(file.read_text())["rate_tps"] == 99.5


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (["-d", "bench", "-R", "100"], {"rate_tps": 100}),
        (["-d", "-R", "100", "bench"], {"rate_tps": 100}),
        (["-dR100"], {}),
        (["-R", "inf"], {}),
        (["-R", "nan"], {}),
        (["-R", "100", "--no-such-option"], {}),
    ],
)
def test_a_rate_is_read_as_old_and_new_pgbench_read_it(options, sent):
    assert benchhub_client._offered(["pgbench", *options]) == sent


def test_a_database_after_d_is_the_one_that_is_connected_to():
    assert benchhub_client._connection(["pgbench", "-d", "bench", "-h", "db"]) == {"-d": "bench", "-h": "db"}
    assert benchhub_client._connection(["pgbench", "-d", "-h", "db", "bench"]) == {"-d": "bench", "-h": "db"}


def test_a_program_that_fails_passes_its_exit_code_on_and_nothing_is_imported(live_server, token, like):
    done = run_from(like.parent, live_server.url, token, "--like", str(like), "--", *printing(code=7))
    assert done.returncode == 7 and "ended with 7: nothing was imported" in done.stderr
    absent = run_from(like.parent, live_server.url, token, "--like", str(like), "--", "/no/such/pgbench")
    assert absent.returncode == 127 and "Traceback" not in absent.stderr
    assert not Run.objects.exists() and not list(like.parent.glob("*.ndjson"))


def test_a_signal_reaches_the_program_and_its_end_is_passed_on(like):
    waiting = [sys.executable, "-c", "import signal; print('begun', flush=True); signal.pause()"]
    command = [sys.executable, "-I", str(CLIENT), "run", "--like", str(like), "--", *waiting]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=like.parent)
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=240) == 128 + signal.SIGTERM


def test_a_result_that_cannot_be_imported_is_kept_and_can_be_pushed_later(live_server, token, like):
    failed = run_from(like.parent, live_server.url, "bh_wrong", "--like", str(like), "--", *printing())
    [file] = like.parent.glob("benchhub-*.ndjson")
    assert failed.returncode == 1 and f"benchhub.py push {file.name}" in failed.stderr
    assert not Run.objects.exists()
    assert call(live_server.url, token, "push", str(file)).returncode == 0
    assert Run.objects.get().found.host["logical_cpus"] == os.cpu_count()


def test_stderr_and_exit_code_are_sent_beside_a_file(live_server, token, tmp_path):
    (tmp_path / "err.log").write_text("pgbench: error: client 3 aborted\n")
    streams = ["--stderr", str(tmp_path / "err.log"), "--returncode"]
    refused = call(live_server.url, token, "push", "-", *streams, "2", stdin=json.dumps(EXAMPLE))
    assert refused.returncode == 1 and not Run.objects.exists()
    two = call(live_server.url, token, "push", "-", *streams, "0", stdin=f"{json.dumps(EXAMPLE)}\n" * 2)
    assert two.returncode == 1 and "push one line" in two.stderr
    (tmp_path / "err.log").write_text("vacuuming...\n")
    assert call(live_server.url, token, "push", "-", *streams, "0", stdin=json.dumps(EXAMPLE)).returncode == 0
    assert Run.objects.get().attempts.get().evidence.filter(name="err.log").exists()


def test_telemetry_of_sysstat_is_added_to_a_run_that_was_imported(live_server, token, tmp_path):
    assert call(live_server.url, token, "push", "-", stdin=json.dumps(EXAMPLE)).returncode == 0
    run = Run.objects.get()
    file = tmp_path / "sysstat.json"
    file.write_bytes(testing.sysstat_json(-36_000, 90, nodename="ci-2"))
    added = call(live_server.url, token, "telemetry", str(run.pk), str(file))
    assert (added.returncode, added.stdout) == (0, "61 of 90 samples lie within the load.\n")
    assert "sysstat ran on ci-2, and the run on ci-1" in added.stderr
    assert len(run.telemetry.get(metric="cpu_user").values) == 60
    file.write_bytes(b"\x96\xd5")
    assert (
        "convert it with: sadf -j -- -A saNN"
        in call(live_server.url, token, "telemetry", str(run.pk), str(file)).stderr
    )
