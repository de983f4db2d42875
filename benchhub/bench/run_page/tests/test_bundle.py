import io
import json
import os
import subprocess
import tarfile
from urllib.parse import urlsplit

import psycopg
import pytest
from django.contrib.auth import get_user_model

from benchhub.bench import testing
from benchhub.bench.models import Evidence
from benchhub.bench.plan.specs import spec_of
from benchhub.bench.run_page import bundle
from runners import tools
from runners.contract import Outputs

pytestmark = pytest.mark.django_db
SCRIPT = {"text": "\\set n random(1, 100000 * :scale)\nSELECT 'it''s', abalance FROM pgbench_accounts WHERE aid = :n;"}

CUSTOM = {"script": "custom", "scripts": [SCRIPT], "scale": 1, "query_mode": "prepared"}


def spec(**changes):
    return testing.whole_spec(**{"parameters": CUSTOM, **changes})


@pytest.fixture
def run():
    hardware = testing.make_box()
    system = testing.make_system("16", testing.make_host("secret-host"), hardware, path="loopback")
    return testing.make_run(testing.make_experiment([system]), system, 2, 1)


def with_spec(run, **changes):
    run.spec = spec(**changes)
    return run


def test_a_bundle_names_no_host_address_user_or_folder(run):
    testing.succeeded(run, 1000.0)
    files = bundle.files(with_spec(run), {"port": {"setting": "5433", "unit": None, "source": "default"}})
    assert sorted(files) == [
        "1-load.sh", "2-run.sh", "README.txt", "connection.sh", "data-set.json", "measured.json", "postgresql.conf",
        "settings-as-found.csv", "workload.json",
    ]  # fmt: skip
    text = "\n".join(files.values())
    assert [word for word in ("secret", "192.0.2") if word in text] == []
    assert "1,000.00 TPS" in files["README.txt"]
    assert "shared_buffers = '256MB'" in files["postgresql.conf"]
    assert json.loads(files["measured.json"])["throughput"] == 1000.0


def test_settings_are_quoted_as_the_server_reads_them(run):
    run.system.configuration.settings = {"log_line_prefix": "it's %m"}
    assert "log_line_prefix = 'it''s %m'" in bundle.files(with_spec(run))["postgresql.conf"]


def test_what_was_not_asked_for_is_not_done(run):
    script = bundle.files(with_spec(run, vacuum=False, checkpoint=False, warmup_s=0))["2-run.sh"]
    assert [word for word in ("VACUUM", "CHECKPOINT", "warm-up") if word in script] == []


@pytest.mark.parametrize(
    ("tool", "parameters", "load", "needed"),
    [
        ("pgbench", CUSTOM, "pgbench 16.9", "pgbench 16.9"),
        ("tatp", {"subscribers": 100_000}, "tatp by pgbench 16.9", "pgbench 16.9"),
        ("sysbench", {"script": "oltp_point_select"}, "sysbench", "sysbench"),
    ],
)
def test_a_bundle_says_which_program_made_the_load_and_no_version_of_another(run, tool, parameters, load, needed):
    files = bundle.files(with_spec(run, tool=tool, parameters=parameters))
    assert f"Load:      {load}, 2 clients" in files["README.txt"]
    assert f"# The folder of {needed} and psql.\n" in files["connection.sh"]


@pytest.mark.parametrize("tool", tools.TOOLS)
def test_the_scripts_of_every_load_generator_are_good_shell(run, tool, tmp_path):
    parameters = {"pgbench": CUSTOM, "tatp": {"subscribers": 100_000}, "sysbench": {"script": "oltp_point_select"}}
    files = bundle.files(with_spec(run, tool=tool, parameters=parameters[tool], warmup_s=2, vacuum=True))
    for name in ("connection.sh", "1-load.sh", "2-run.sh"):
        (tmp_path / name).write_text(files[name])
        read = subprocess.run(["sh", "-n", str(tmp_path / name)], capture_output=True, text=True, check=False)
        assert (read.returncode, read.stderr) == (0, ""), name


def test_it_is_said_which_program_is_needed(run):
    assert "You need pgbench 16.9, psql and awk." in bundle.files(with_spec(run))["README.txt"]
    files = bundle.files(with_spec(run, tool="sysbench", parameters={"script": "oltp_point_select"}))
    assert "You need sysbench, psql and awk." in files["README.txt"]


def test_the_same_files_give_the_same_bytes():
    packed = bundle.archive("x", {"a.sh": "exit\n", "b.txt": "é"})
    assert packed == bundle.archive("x", {"b.txt": "é", "a.sh": "exit\n"})
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        assert [(entry.name, oct(entry.mode)) for entry in tar] == [("x/a.sh", "0o755"), ("x/b.txt", "0o644")]


def test_a_run_offers_its_bundle_with_what_it_left(client, run):
    client.force_login(get_user_model().objects.create_user("ada"))
    made = testing.make_run(run.experiment, run.system, 2, 2, spec=spec())
    testing.succeeded(made, 1000.0)
    testing.with_everything(made)
    assert f'href="/runs/{made.pk}/bundle.tar.gz"' in client.get(f"/runs/{made.pk}/").content.decode()
    answer = client.get(f"/runs/{made.pk}/bundle.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        names = tar.getnames()
    folder = f"benchhub-run-{made.pk}"
    assert {f"{folder}/2-run.sh", f"{folder}/evidence/command.sh", f"{folder}/evidence/out.log"} <= set(names)


@pytest.mark.parametrize(
    ("name", "text"), [("before.snapshot", "server|{}\n"), ("out.log", "statement|x\nserver|{}\n")]
)
def test_what_a_server_counted_by_statement_is_in_no_bundle(run, name, text):
    attempt, content = testing.succeeded(run, 1.0).attempt, b"statement|x\nserver|{}\n"
    Evidence.objects.create(attempt=attempt, name=name, content=content, size_bytes=len(content), sha256="0" * 64)
    assert bundle.evidence(run)[f"evidence/{name}"] == text


def test_a_run_whose_plan_cannot_be_read_any_more_says_so(client, run):
    client.force_login(get_user_model().objects.create_user("ada"))
    answer = client.get(f"/runs/{run.pk}/bundle.tar.gz")  # its spec names no endpoint
    assert (answer.status_code, b"not here any more" in answer.content) == (409, True)


@pytest.fixture
def sh(cluster16, tmp_path):
    """Unpack a bundle for a real server, in a database that holds nothing yet, and call its scripts by name."""
    server = urlsplit(cluster16.url)
    address = {"PGHOST": server.hostname, "PGPORT": str(server.port), "PGUSER": server.username, "PGDATABASE": "bundle"}
    with psycopg.connect(cluster16.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bundle")
        connection.execute("CREATE DATABASE bundle")
    (tmp_path / "pass").write_text(f"{server.hostname}:{server.port}:*:{server.username}:{cluster16.password}\n")
    (tmp_path / "pass").chmod(0o600)
    environment = {"PATH": os.environ["PATH"], "BIN": str(cluster16.bin_directory), "PGPASSFILE": f"{tmp_path}/pass"}

    def unpack(run):
        with tarfile.open(fileobj=io.BytesIO(bundle.archive("it", bundle.files(run)))) as tar:
            filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Debian 12 has Python 3.11.2
            tar.extractall(tmp_path, **filters)

        def call(name):
            options = {"env": {**environment, **address}, "capture_output": True, "text": True, "timeout": 240}
            return subprocess.run(["sh", f"{tmp_path}/it/{name}"], check=False, **options)

        return call

    return unpack


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def load_and_measure(run, call, folder):
    """Return what 2-run.sh printed, the files that it left, and what the parser makes of them."""
    loaded, measured = call("1-load.sh"), call("2-run.sh")
    assert (loaded.returncode, measured.returncode) == (0, 0), loaded.stderr + measured.stderr
    files, spec = files_in(folder / "it" / "run"), spec_of(run)
    result = tools.get(spec.tool).parse(spec, Outputs(0, files["out.log"], files["err.log"], files))
    assert (result.outcome, result.reason) == ("succeeded", "")
    return measured, files, result


def test_a_bundle_repeats_the_run_on_a_real_server(run, sh, tmp_path):
    planned = with_spec(run, log_sampling_rate=1, duration_s=5)
    call = sh(planned)
    early = call("2-run.sh")
    assert (early.returncode, "The check of the data set failed." in early.stderr) == (1, True)
    measured, files, result = load_and_measure(planned, call, tmp_path)
    assert result.measures["tps"].value > 0
    assert measured.stdout == files["out.log"].decode()
    assert [histogram.name for histogram in result.histograms]
    assert not (tmp_path / "it" / "run" / "log").exists()  # or a second run would count the first one's lines


@pytest.mark.whole
def test_a_bundle_of_tatp_tells_its_mqth_and_leaves_what_can_be_brought_in(run, sh, tmp_path):
    planned = with_spec(run, tool="tatp", parameters={"subscribers": 1_000}, warmup_s=1, duration_s=3, vacuum=False)
    call = sh(planned)
    measured, _files, result = load_and_measure(planned, call, tmp_path)
    assert measured.stdout.splitlines()[-1].startswith(f"MQTh = {result.measures['mqth'].value:.1f} (")
