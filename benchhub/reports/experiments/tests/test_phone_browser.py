"""The page of an experiment on a phone: the answer comes first, and nobody scrolls for ever."""

import pytest
from django.urls import reverse

from benchhub.bench import testing
from benchhub.reports.testing import variant
from tests.browser import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WIDTH_PX, HEIGHT_PX, MOST_SCREENS = 360, 780, 8


@pytest.fixture
def experiment():
    """50 runs: two systems with long names, at five levels, five times each."""
    hardware = testing.make_box()
    plain = testing.make_system("18", testing.make_host(), hardware)
    names = ("usual settings", "shared_buffers and huge pages")
    systems = [variant(plain, label=f"PostgreSQL 18, own cluster in the north, {name}") for name in names]
    experiment = testing.make_experiment(systems, client_levels=[1, 2, 4, 8, 16], repeats=5)
    for number, system in enumerate(systems, start=1):
        for clients in experiment.client_levels:
            for repeat in range(1, 6):
                run = testing.make_run(experiment, system, clients, repeat)
                testing.succeeded(run, 300.0 * clients**0.7 * number + repeat)
    return experiment


def test_an_experiment_of_50_runs_begins_with_its_answer_and_is_no_longer_than_8_screens(page, experiment):
    page.set_viewport_size({"width": WIDTH_PX, "height": HEIGHT_PX})
    sign_in(page)
    page.goto(reverse("experiment", args=[experiment.pk]))
    page.locator(".chart.drawn").wait_for()
    assert page.locator("#list tbody tr").count() == 50
    answer = page.get_by_role("region", name="The answer").bounding_box()
    assert answer["y"] + answer["height"] < HEIGHT_PX
    assert page.evaluate("document.documentElement.scrollHeight") <= MOST_SCREENS * HEIGHT_PX
    assert page.evaluate("document.documentElement.scrollWidth") == WIDTH_PX
