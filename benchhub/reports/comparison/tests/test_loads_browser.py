"""TATP's figures on a phone: all bars drawn, in MQTh alone, with the parts of the price per MQTh."""

import pytest

from benchhub.bench import testing
from benchhub.bench.models import LatencyHistogram
from benchhub.catalog.models import Hardware, LicenceModel, Workload
from benchhub.reports.testing import key, list_price
from runners.tools.tatp.parameters import TRANSACTIONS
from tests.browser import is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOADS = (1, 8, 32)


@pytest.fixture
def systems():
    box, host = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10), testing.make_host()
    list_price("5000", hardware=box)
    list_price("4200", licence_model=LicenceModel.objects.create(name="Per socket", metric="socket"))
    return [testing.make_system(version, host, box) for version in ("16", "18")]


@pytest.fixture
def tatp(systems):
    """16 gives 1,000 MQTh at its highest load, and 18 2,000."""
    workload = Workload.objects.create(name="tatp", tool="tatp", parameters={"subscribers": 100_000, "mix": "80/20"})
    experiment = testing.make_experiment(systems, name="Phones", workload=workload, client_levels=list(LOADS))
    for system, mqth in zip(systems, (1000.0, 2000.0), strict=True):
        for clients in LOADS:
            for repeat in (1, 2):
                run = testing.make_run(experiment, system, clients, repeat)
                testing.succeeded(run, mqth * clients / LOADS[-1], unit="MQTh")
                _with_response_times(run, 1e6 / mqth)
    return experiment


def _with_response_times(run, slow_us):
    for place, name in enumerate(("latency", *TRANSACTIONS), start=1):
        edges = {"lower_us": [100, slow_us * place], "upper_us": [101, slow_us * place + 1], "counts": [85, 15]}
        LatencyHistogram.objects.create(run=run, name=name, **edges, sum_us=1, min_us=50, max_us=slow_us * place)


def test_the_figures_of_two_systems_are_drawn_whole_and_speak_of_mqth_alone(page, tatp):
    sign_in(page)
    page.goto(f"/compare/?experiment={tatp.pk}")
    page.locator("#loads > summary").click()
    for name in ("chart", "chart-loads", "chart-types"):
        page.locator(f"#{name}.drawn").wait_for()
    assert page.locator("#chart-loads .bars .point").count() == 2 * 2  # systems, loads
    assert page.locator("#chart-types .bars .point").count() == 2 * len(TRANSACTIONS)
    assert "MQTh" in page.locator("#chart .ytitle").text_content()
    assert "TPS" not in page.locator("main").text_content()
    assert not is_too_wide(page)


@pytest.mark.whole
def test_the_parts_list_ends_in_a_price_per_mqth(page, tatp):
    """(5,000 + 3 years x 2 sockets x 4,200) / 2,000 = 15.10"""
    sign_in(page)
    page.goto(f"/compare/?experiment={tatp.pk}")
    page.locator(".price").filter(has_text="15.10").first.wait_for()
    parts = page.locator("#prices-1 .prices details").last
    parts.locator("summary").first.click()
    assert "2,000 MQTh" in parts.inner_text() and "4,200" in parts.inner_text()


@pytest.mark.whole
def test_mqth_and_tps_share_no_axis(page, tatp, systems):
    other = testing.make_experiment(systems, name="Others")
    testing.succeeded(testing.make_run(other, systems[0], 8, 1), 500.0)
    sign_in(page)
    page.goto(f"/compare/?curve={key(tatp, systems[0])}&curve={key(other, systems[0])}")
    page.get_by_text("These curves are not compared").wait_for()
    assert page.locator(".chart").count() == 0
