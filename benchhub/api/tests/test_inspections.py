import pytest
from django.db.models.functions import Now

from benchhub.bench import testing
from benchhub.catalog.models import Inspection, Instance

pytestmark = pytest.mark.django_db


def test_an_instance_is_tested_by_a_host_on_which_its_owner_may_run_and_by_no_other(systems, host, runner):
    instance = systems[0].instance
    other = testing.make_host("other", "192.0.2.7")
    refused = runner.send("post", "inspections/", {"instance": instance.pk, "driver": other.pk})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/driver")
    nobody = runner.send("post", "inspections/", {"instance": 10**9, "driver": host.pk})
    assert (nobody.status_code, nobody.json()["errors"][0]["pointer"]) == (422, "/instance")
    assert not Inspection.objects.exists()
    answer = runner.send("post", "inspections/", {"instance": instance.pk, "driver": host.pk})
    assert (answer.status_code, answer.json()["is_wanted"], answer.json()["findings"]) == (202, True, [])
    Inspection.objects.update(is_wanted=False, sight={"errors": "FATAL: no pg_hba.conf entry"}, seen_at=Now())
    (finding,) = runner.send("get", f"inspections/{answer.json()['id']}/").json()["findings"]
    assert (finding["name"], finding["level"]) == ("Log-in", "bad")
    Instance.objects.filter(pk=instance.pk).update(host=other)
    assert runner.send("post", "inspections/", {"instance": instance.pk, "driver": host.pk}).status_code == 403


def test_an_instance_that_is_moved_by_a_program_is_tested_anew(systems, host, admin):
    instance = systems[0].instance
    Inspection.objects.create(instance=instance, driver=host, is_wanted=False, sight={"version": "16.4"})
    before = admin.send("get", f"instances/{instance.pk}/")
    changes = {"port": 6000, "password": "typed anew"}
    answer = admin.send("patch", f"instances/{instance.pk}/", changes, headers={"If-Match": before["ETag"]})
    assert answer.status_code == 200, answer.content
    row = Inspection.objects.get()
    assert (row.is_wanted, row.sight) == (True, None)
