"""The pictures of a design, as a browser draws them."""

import pytest

from benchhub.bench import testing
from benchhub.bench.models import Design
from benchhub.catalog.models import Workload
from tests.browser import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_peaks_along_scales_fill_their_axis_although_scales_look_like_numbers(page):
    system = testing.make_system("18", testing.make_host(), testing.make_box())
    design = Design.objects.create(name="Scales by threads")
    for scale in (10, 100):
        parameters = {**testing.PARAMETERS, "scale": scale}
        workload = Workload.objects.create(name=f"scale {scale}", tool="pgbench", parameters=parameters)
        for rule in ("clients", "1"):
            part = testing.make_experiment(
                [system], design=design, name=f"{scale} {rule}", workload=workload, thread_rule=rule
            )
            testing.succeeded(testing.make_run(part, system, 8, 1), 1000.0)
    page.set_viewport_size({"width": 1440, "height": 900})
    sign_in(page)
    page.goto(f"/designs/{design.pk}/")
    chart = page.locator("main .chart.drawn").first
    chart.wait_for()
    low, high = chart.evaluate("chart => chart.layout.xaxis.range")
    assert -1 < low < 0 and 1 < high < 2  # the two scales are the places 0 and 1
