"""The page of a run says that its telemetry is of sysstat, takes a file of it, and keeps what was typed."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Run
from runners.telemetry.sysstat.answer import MOST_BYTES

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    made = testing.make_measured_run()
    testing.dated(made)
    return Run.objects.get(pk=made.pk)


def test_a_file_is_added_by_the_page_and_its_source_stands_at_the_timeline_and_in_the_download(admin_client, run):
    page, form = reverse("run", args=[run.pk]), reverse("run-telemetry-add", args=[run.pk])
    assertContains(admin_client.get(page), form)
    response = admin_client.get(form)
    assertContains(response, "sadf -j -s 11:59:58 -e 12:00:32 sa31 -- -A")
    assertContains(response, "name the file of the day before or after")
    assertNotContains(response, "Nobody measured")
    file = SimpleUploadedFile("sar.json", testing.sysstat_json(-5, 60, nodename="db2"))
    assertRedirects(admin_client.post(form, {"file": file}), f"{page}#telemetry-source", fetch_redirect_response=False)
    response = admin_client.get(page)
    assertContains(response, "From sysstat on db2, not from BenchHub.")
    assertContains(response, "28 of 60 samples lie outside the load")
    assertContains(response, "sysstat ran on db2, and the run on box")
    assert [panel.title for panel in response.context["page"].timeline.first] == ["Throughput", "CPU", "Disks"]
    lines = admin_client.get(reverse("run-telemetry", args=[run.pk])).content.decode().splitlines()
    assert lines[0].endswith(",source")
    assert {line.rsplit(",", 1)[1] for line in lines[1:] if line.startswith("CPU,")} == {"sysstat on db2"}
    assert {line.rsplit(",", 1)[1] for line in lines[1:] if line.startswith("Throughput,")} == {"load generator"}


def test_what_cannot_be_used_is_said_and_what_was_pasted_is_kept(admin_client, run):
    form = reverse("run-telemetry-add", args=[run.pk])
    response = admin_client.post(form, {"text": "12:00:01 AM CPU %user"})
    assertContains(response, "This is no output of sadf -j.")
    assertContains(response, "12:00:01 AM CPU %user")
    assertContains(admin_client.post(form, {}), "Choose a file that sadf -j printed, or paste its text.")
    assert not run.telemetry.exists()


def test_a_file_that_is_too_large_is_refused_by_the_form_with_what_to_do(admin_client, run):
    file = SimpleUploadedFile("sar.json", b" " * (MOST_BYTES + 1))
    response = admin_client.post(reverse("run-telemetry-add", args=[run.pk]), {"file": file})
    assertContains(response, "The file has more than 32 MiB: cut it to the time of the run")


def test_it_is_removed_after_a_question(admin_client, run):
    admin_client.post(reverse("run-telemetry-add", args=[run.pk]), {"text": testing.sysstat_json().decode()})
    remove = reverse("run-telemetry-remove", args=[run.pk])
    assertContains(admin_client.get(remove), "can be added again")
    assert run.telemetry.exists()
    assertRedirects(admin_client.post(remove), reverse("run", args=[run.pk]))
    assert not run.telemetry.exists()
    assert admin_client.get(remove).status_code == 404


def test_a_run_that_benchhub_observed_offers_nothing_and_its_page_says_why(admin_client, run):
    testing.observed(run)
    assertNotContains(admin_client.get(reverse("run", args=[run.pk])), "telemetry/add")
    response = admin_client.get(reverse("run-telemetry-add", args=[run.pk]), follow=True)
    assertContains(response, "BenchHub observed this run itself")
    assertNotContains(response, "sadf -j --")


def test_who_may_not_run_there_adds_and_removes_nothing(client, run):
    client.force_login(make_user("eve", Role.RUNNER))
    answer = client.post(reverse("run-telemetry-add", args=[run.pk]), {"text": testing.sysstat_json().decode()})
    assert answer.status_code == 403
    assert not run.telemetry.exists()
