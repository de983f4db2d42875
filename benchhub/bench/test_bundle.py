import io
import json
import os
import subprocess
import tarfile
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model

from benchhub.catalog.models import Hardware
from runners import tools
from runners.contract import Outputs

from . import bundle, testdata
from .plan import spec_of

pytestmark = pytest.mark.django_db
SCRIPT = {"text": "\\set n random(1, 100000 * :scale)\nSELECT 'it''s', abalance FROM pgbench_accounts WHERE aid = :n;"}

CUSTOM = {"script": "custom", "scripts": [SCRIPT], "scale": 1, "query_mode": "prepared"}


def spec(**changes):
    return testdata.whole_spec(**{"parameters": CUSTOM, **changes})


@pytest.fixture
def run():
    hardware = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=4)
    system = testdata.make_system("16", testdata.make_host("secret-host"), hardware, path="loopback")
    return testdata.make_run(testdata.make_experiment([system]), system, 2, 1)


def with_spec(run, **changes):
    run.spec = spec(**changes)
    return run


def test_a_bundle_names_no_host_address_user_or_folder(run):
    testdata.succeeded(run, 1000.0)
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


def test_the_same_files_give_the_same_bytes():
    one = bundle.archive("x", {"a.sh": "exit\n", "b.txt": "é"})
    assert one == bundle.archive("x", {"b.txt": "é", "a.sh": "exit\n"})
    with tarfile.open(fileobj=io.BytesIO(one)) as tar:
        assert [(entry.name, oct(entry.mode)) for entry in tar] == [("x/a.sh", "0o755"), ("x/b.txt", "0o644")]


def test_a_run_offers_its_bundle_with_what_it_left(client, run):
    client.force_login(get_user_model().objects.create_user("ada"))
    made = testdata.make_run(run.experiment, run.system, 2, 2, spec=spec())
    testdata.succeeded(made, 1000.0)
    testdata.with_everything(made)
    assert f'href="/runs/{made.pk}/bundle.tar.gz"' in client.get(f"/runs/{made.pk}/").content.decode()
    answer = client.get(f"/runs/{made.pk}/bundle.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        names = tar.getnames()
    folder = f"benchhub-run-{made.pk}"
    assert {f"{folder}/2-run.sh", f"{folder}/evidence/command.sh", f"{folder}/evidence/out.log"} <= set(names)


def test_a_run_whose_plan_cannot_be_read_any_more_says_so(client, run):
    client.force_login(get_user_model().objects.create_user("ada"))
    answer = client.get(f"/runs/{run.pk}/bundle.tar.gz")  # its spec names no endpoint
    assert (answer.status_code, b"not here any more" in answer.content) == (409, True)


def test_a_bundle_repeats_the_run_on_a_real_server(run, cluster16, tmp_path):
    of = with_spec(run)
    with tarfile.open(fileobj=io.BytesIO(bundle.archive("it", bundle.files(of)))) as tar:
        tar.extractall(tmp_path, filter="data")
    server = urlsplit(cluster16.url)
    there = {"PGHOST": server.hostname, "PGPORT": str(server.port), "PGUSER": server.username, "PGDATABASE": "benchhub"}
    (tmp_path / "pass").write_text(f"{server.hostname}:{server.port}:*:{server.username}:{cluster16.password}\n")
    (tmp_path / "pass").chmod(0o600)
    environment = {"PATH": os.environ["PATH"], "BIN": str(cluster16.bin_directory), "PGPASSFILE": f"{tmp_path}/pass"}

    def sh(name):
        told = {"env": {**environment, **there}, "capture_output": True, "text": True, "timeout": 120}
        return subprocess.run(["sh", f"{tmp_path}/it/{name}"], check=False, **told)

    early = sh("2-run.sh")
    assert (early.returncode, "The check of the data set failed." in early.stderr) == (1, True)
    loaded = sh("1-load.sh")
    assert loaded.returncode == 0, loaded.stderr
    measured = sh("2-run.sh")
    assert measured.returncode == 0, measured.stderr
    out, err = ((tmp_path / "it" / "run" / f"{name}.log").read_bytes() for name in ("out", "err"))
    result = tools.get("pgbench").parse(spec_of(of), Outputs(0, out, err))
    assert (result.outcome, result.reason) == ("succeeded", "")
    assert result.measures["tps"].value > 0
    assert measured.stdout == out.decode()
