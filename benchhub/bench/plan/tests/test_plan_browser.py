"""An experiment planned by typing, queued and cancelled, as a person does it in a browser."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.bench.models import Experiment
from benchhub.bench.plan.testing import FREE_FORM, NEW
from benchhub.catalog.models import Configuration, Hardware, Instance, PgBuild, Workload
from tests.browser import is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def catalogue(page):
    build = {"bin_directory": "/opt/pg/bin", "version": "18.1", "version_num": 180_001, "pgbench_version": "18.1"}
    build["postgres_sha256"] = testing.sha256("18.1")
    host = testing.make_host()
    host.facts, host.facts_at = {"builds": [build]}, timezone.now()
    host.hardware = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    host.save()
    configuration = Configuration.objects.create(name="defaults", settings={})
    fields = {"host": host, "build": PgBuild.from_facts(build), "configuration": configuration}
    Instance.objects.create(name="pg18", address="127.0.0.1", database="bench", username="bench", **fields)
    Workload.objects.create(name="reading", tool="pgbench", parameters=testing.PARAMETERS)


def test_a_plan_is_typed_seen_to_grow_queued_and_cancelled(page, catalogue):
    sign_in(page)
    page.get_by_role("link", name="Plan an experiment").first.click()
    page.wait_for_url(NEW)
    page.get_by_role("navigation", name="What do you want to know?").get_by_role("link").first.wait_for()
    page.get_by_role("link", name="Plan freely").press("Enter")
    page.wait_for_url(FREE_FORM)
    assert not page.get_by_text("Choose one.").count()
    stands_out = "button => getComputedStyle(button).fontWeight === '600'"
    queue, show = (page.get_by_role("button", name=name, exact=True) for name in ("Queue", "Show the plan"))
    assert (queue.evaluate(stands_out), show.evaluate(stands_out)) == (False, True)
    page.get_by_label("Workload").select_option(label="reading")
    page.get_by_label("Instance").select_option(label="pg18")
    runs = page.locator("#plan dd").first
    page.locator("#plan dd", has_text="12").wait_for()  # 4 levels x 3 repeats
    assert (queue.evaluate(stands_out), show.evaluate(stands_out)) == (True, False)
    page.get_by_label("Client levels").fill("1..64*2")
    page.locator("#plan dd", has_text="21").wait_for()
    page.get_by_label("Duration of a run, s").fill("5")
    page.get_by_text("Runs shorter than 30 s").wait_for()
    page.get_by_label("Client levels").fill("1..64*1")
    page.locator("#plan").get_by_text("its factor must be at least 1.1").wait_for()
    page.get_by_role("button", name="Queue", exact=True).click()
    page.locator("#id_levels_error").wait_for()
    expect(page.locator("#id_name_error")).to_be_visible()
    assert page.get_by_label("Client levels").input_value() == "1..64*1"
    assert not is_too_wide(page)
    assert not Experiment.objects.exists()
    page.get_by_label("Name", exact=True).fill("How far it scales")
    page.get_by_label("Client levels").fill("1, 2")
    page.get_by_role("button", name="Queue", exact=True).click()
    page.get_by_role("heading", name="How far it scales").wait_for()
    assert runs.count() == 0
    page.get_by_role("link", name="Cancel the experiment").click()
    page.get_by_role("heading", name="Cancel How far it scales?").wait_for()
    page.get_by_role("link", name="No, go back").click()
    experiment = Experiment.objects.get()
    assert set(experiment.runs.values_list("state", flat=True)) == {"queued"}
    page.get_by_role("link", name="Cancel run").first.click()
    page.get_by_role("button", name="Cancel the run").click()
    page.get_by_text("1 initialisation cancelled").wait_for()
    page.get_by_role("link", name="Cancel the experiment").click()
    page.get_by_role("button", name="Cancel the experiment").click()
    page.get_by_text("6 runs cancelled").wait_for()
    assert set(experiment.runs.values_list("state", flat=True)) == {"cancelled"}
    page.get_by_role("link", name="Plan a similar one").click()
    assert page.get_by_label("Client levels").input_value() == "1, 2"


@pytest.mark.whole
def test_enter_in_a_field_shows_the_plan_and_does_not_queue_it(page, catalogue):
    sign_in(page)
    page.goto(FREE_FORM)
    page.get_by_label("Name", exact=True).fill("by accident")
    page.get_by_label("Workload").select_option(label="reading")
    page.get_by_label("Instance").select_option(label="pg18")
    with page.expect_navigation():
        page.get_by_label("Client levels").press("Enter")
    page.locator("#plan dd", has_text="12").wait_for()
    assert not Experiment.objects.exists()


def test_a_long_list_is_typed_into_and_says_where_what_is_typed_is_not_enough(page, catalogue):
    names = [f"mix {number:02}" for number in range(20)]
    Workload.objects.bulk_create(Workload(name=name, tool="pgbench", parameters=testing.PARAMETERS) for name in names)
    sign_in(page)
    page.goto(FREE_FORM)
    workload, select = page.get_by_label("Workload"), page.locator("select[name=workload]")
    expect(select).to_be_hidden()
    workload.fill("mix")
    workload.press("Tab")
    page.get_by_text("20 choices have “mix” in their name").wait_for()
    assert (workload.input_value(), select.input_value()) == ("mix", "")
    assert workload.evaluate("input => input.validity.customError")
    workload.fill("nothing of this name")
    workload.press("Enter")
    page.get_by_text("No choice has “nothing of this name” in its name").wait_for()
    workload.fill("READ")
    workload.press("Tab")
    expect(workload).to_have_value("reading")
    assert select.input_value() == str(Workload.objects.get(name="reading").pk)
    expect(page.locator("[id$=-typed-why]")).to_have_count(0)
    workload.focus()
    assert (workload.input_value(), workload.get_attribute("placeholder")) == ("", "reading")
    workload.blur()
    expect(workload).to_have_value("reading")
    page.get_by_label("Instance").select_option(label="pg18")
    page.locator("#plan dd", has_text="12").wait_for()


def test_a_published_method_is_planned_seen_with_its_parts_and_queued_as_a_design(page, catalogue):
    sign_in(page)
    page.goto(NEW)
    page.get_by_role("link", name="Repeat a published method").click()
    page.get_by_role("button", name="PostgreSQL on POWER8").click()
    page.get_by_text("how its method is carried out today").click()
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.get_by_text("What is done here").count() == 1 and not is_too_wide(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_label("Instance").select_option(label="pg18")
    page.locator("#plan .costs td", has_text="450 min").wait_for()  # 2 workloads x 9 levels x 5 trials of 300 s
    expect(page.get_by_label("Others as well (optional)")).to_be_hidden()
    page.get_by_text("All other fields").click()
    expect(page.get_by_label("Others as well (optional)")).to_be_visible()
    assert page.get_by_role("region", name="Parts of the design").locator("tbody tr").count() == 2
    page.get_by_role("button", name="Queue", exact=True).click()
    page.get_by_role("heading", name="The method of report B").wait_for()
    assert Experiment.objects.count() == 2
    assert not is_too_wide(page)
