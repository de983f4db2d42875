"""Report C by clicking: nights of its own, a baseline and five steps, what each gained, and a page to share."""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from benchhub.bench.execute import clusters, tick, visits
from benchhub.bench.models import Run, TuningSeries
from benchhub.catalog.models import Cluster, Configuration, Hardware, Host, Instance, PgBuild, Workload
from tests.browser import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.target, pytest.mark.whole, pytest.mark.django_db(transaction=True)]
PATIENCE_MS = 600_000  # of a busy machine with 18 runs, each of which starts and stops a cluster
STEPS = (
    ("memory", "shared_buffers = 64MB"),
    ("sorting", "work_mem = 16MB"),
    ("WAL", "max_wal_size = 2GB"),
    ("checkpoints", "checkpoint_timeout = 30min"),
    ("commits that may be lost", "synchronous_commit = off"),
)


@pytest.fixture
def worker() -> Iterator[None]:
    """Tick until the test ends, on a thread of its own, woken by the ends of jobs; there is no broker in between."""
    stop, woken = threading.Event(), queue.Queue[int]()

    def work() -> None:
        while not stop.is_set():
            try:
                tick.tick(woken.put, [woken.get(timeout=0.3)])
            except queue.Empty:
                tick.tick(woken.put)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join(240)


@pytest.fixture
def own_cluster(transactional_db: None, target: Any, cluster16: Any) -> Instance:
    """Return a cluster of BenchHub's own, made, on a host that was approved and probed."""
    machine = Hardware.objects.create(name="A box", sockets=1, cores_per_socket=2)
    host = Host.objects.create(
        name="box", address=target.address, port=target.port, username=target.username, host_key=target.host_key,
        trust=Host.Trust.PINNED, private_key=target.private_key, work_directory=str(target.work_directory),
        hardware=machine,
    )  # fmt: skip
    programs = str(cluster16.bin_directory)
    visits.probe_host(host, [programs])
    instance = Instance.objects.create(
        name="own", host=host, build=PgBuild.from_facts(host.build_facts(programs)), address="", database="bench",
        configuration=Configuration.objects.create(name="as found", settings={"fsync": "off"}),
        username=host.username, bin_directory=programs,
    )  # fmt: skip
    Cluster.objects.create(instance=instance, folder=f"clusters/{secrets.token_hex(3)}")
    assert clusters.visit_clusters() == 1
    Workload.objects.create(name="TPC-B", tool="pgbench", parameters={"script": "tpcb-like", "scale": 1})
    return instance


@pytest.fixture
def tab(chromium: Any, live_server: Any) -> Iterator[Any]:
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 1440, "height": 900})
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    sign_in(page)
    yield page
    context.close()
    assert complaints == []


def plan_series(tab: Any, instance: Instance) -> None:
    tab.goto("/tuning/new")
    for _ in range(2):
        tab.get_by_role("button", name="Add a step").click()
    tab.get_by_label("Name", exact=True).first.fill("Nights")
    tab.locator("[name=instance]").select_option(str(instance.pk))
    for place, (name, settings) in enumerate(STEPS):
        tab.locator(f"[name=steps-{place}-name]").fill(name)
        tab.locator(f"[name=steps-{place}-settings]").fill(settings)
    tab.get_by_label("Workload").select_option(label="TPC-B")
    tab.get_by_label("Clients").fill("2")
    tab.get_by_label("Repeats").fill("3")
    tab.get_by_label("Duration of a run, s").fill("3")
    tab.get_by_text("All other fields, set as usual").click()
    tab.get_by_label("Warm-up before it, s").fill("0")


def confine_to_its_own_times(tab: Any) -> None:
    tab.get_by_text("Only at these times").click()
    for box in tab.locator("[name=window_days]").all():
        box.check()
    now = datetime.now(UTC)
    tab.locator("[name=window_from]").fill(f"{now - timedelta(hours=1):%H:%M}")
    tab.locator("[name=window_until]").fill(f"{now + timedelta(hours=6):%H:%M}")
    tab.get_by_label("Nobody else meanwhile").check()


def share(tab: Any) -> str:
    """Return the address of a link to the comparison of the steps, for somebody who is not logged in."""
    tab.get_by_role("link", name="Compare and publish").click()
    tab.get_by_role("link", name="Keep and publish").click()
    tab.get_by_label("Title").fill("Five steps at night")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_role("button", name="Publish").click()
    tab.get_by_role("link", name="Make a link").click()
    tab.get_by_label("For whom").fill("The board")
    tab.get_by_role("button", name="Read what it will tell").click()
    tab.get_by_role("button", name="Make the link").click()
    return str(tab.locator("#address").input_value())


@pytest.mark.usefixtures("worker")
def test_report_c_is_carried_out_by_clicking_from_its_nights_to_a_shared_page(
    tab: Any, own_cluster: Instance, chromium: Any
) -> None:
    plan_series(tab, own_cluster)
    confine_to_its_own_times(tab)
    tab.get_by_role("button", name="Queue", exact=True).click()
    tab.get_by_role("heading", name="Nights").wait_for()
    series = TuningSeries.objects.get()
    assert series.experiment.is_exclusive and series.experiment.windows.count() == 1

    tab.get_by_text("Under way:").wait_for(state="detached", timeout=PATIENCE_MS)
    states = Run.objects.filter(kind=Run.Kind.MEASURE).values_list("state", flat=True)
    assert list(states) == ["succeeded"] * 3 * (1 + len(STEPS))
    steps = tab.get_by_role("region", name="Effect of each step, as a table").locator("tbody tr")
    assert steps.count() == len(STEPS) + 1 and "Together" in steps.last.inner_text()
    tab.locator("#chart-steps .trace").first.wait_for(state="attached")

    tab.get_by_role("link", name="Before and after over time").click()
    tab.locator("#chart-timeline-first.drawn").wait_for()
    assert "with=" in tab.url
    tab.go_back()

    address = share(tab)
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    fresh = context.new_page()
    fresh.goto(address)
    fresh.get_by_role("heading", name="Five steps at night").first.wait_for()
    assert "checkpoints" in fresh.locator("main").inner_text()
    context.close()
