"""A reader asks for the evidence of a run, of which a target may have left 64 MiB."""

import pytest

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Evidence

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
