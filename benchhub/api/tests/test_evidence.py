"""A reader asks for the evidence of a run, of which a target may have left 64 MiB."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Attempt, Evidence
from benchhub.bench.results import archive

pytestmark = pytest.mark.django_db


def test_a_list_of_evidence_holds_no_large_file_and_its_page_no_long_text(viewer, client, experiment):
    run = experiment.runs.filter(clients=8)[0]
    testing.with_everything(run)
    large = b"https://ci.example.org/ " * 50_000
    digest = {"size_bytes": len(large), "sha256": "0" * 64}
    Evidence.objects.create(attempt=run.attempts.get(), name="large.log", content=large, **digest)
    half = {"content": large[: 2**19], "size_bytes": 2**19, "sha256": "0" * 64}
    Evidence.objects.create(attempt=run.attempts.get(), name="half.log", **half)
    texts = {file["name"]: file["text"] for file in viewer.send("get", f"runs/{run.pk}/evidence/").json()}
    assert texts["large.log"] is None
    assert len(texts["half.log"]) == 2**19
    client.force_login(make_user("otto", Role.VIEWER))
    page = client.get(f"/api/v1/runs/{run.pk}/evidence/", headers={"Accept": "text/html"}).content.decode()
    assert "more characters are left out here" in page
    assert page.count("<a href") < 20_000


def test_the_api_reads_the_archive_and_says_what_it_does_not_have(viewer, experiment, settings, tmp_path):
    place = {"BACKEND": "benchhub.archive.Folder", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "archive": place}
    run = experiment.runs.filter(clients=8)[0]
    testing.with_everything(run)
    Attempt.objects.filter(run=run).update(ended_at=timezone.now() - timedelta(days=2))
    assert archive.move(1).extent.files == 1
    file = output_of(viewer, run)
    assert (file["text"], file["archived_at"] is None) == ("tps = 1000\n", False)
    assert viewer.send("get", f"runs/{run.pk}/evidence/{file['id']}/").content == b"tps = 1000\n"
    next(tmp_path.rglob("*.gz")).unlink()
    assert output_of(viewer, run)["text"] is None
    answer = viewer.send("get", f"runs/{run.pk}/evidence/{file['id']}/")
    assert (answer.status_code, "put it back" in answer.json()["detail"]) == (409, True)


def output_of(viewer, run):
    files = viewer.send("get", f"runs/{run.pk}/evidence/").json()
    return next(file for file in files if file["name"] == "out.log")
