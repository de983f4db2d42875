"""A person who has never seen BenchHub: from an empty warehouse to a priced comparison, by clicking alone."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from benchhub.bench.execute import tick, visits
from benchhub.bench.models import Run
from benchhub.catalog.models import LicenceModel
from benchhub.catalog.shared.testing import copy_install_line, install

pytestmark = [pytest.mark.browser, pytest.mark.target, pytest.mark.django_db(transaction=True)]


PATIENCE_MS = 240_000  # of a busy machine with an initialisation and two runs


@pytest.fixture
def worker() -> Iterator[threading.Event]:
    """Visits hosts until the test ends, on a thread of its own, and once it is told to, ticks.

    It is woken by the ends of jobs; there is no broker in between.
    """
    stop, may_tick = threading.Event(), threading.Event()
    woken: queue.Queue[int] = queue.Queue()

    def work() -> None:
        while not stop.is_set():
            visits.visit_hosts()
            if not may_tick.wait(0.3):
                continue
            try:
                tick.tick(woken.put, [woken.get(timeout=0.3)])
            except queue.Empty:
                tick.tick(woken.put)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield may_tick
    stop.set()
    thread.join(240)


@pytest.fixture
def tab(chromium: Any, live_server: Any) -> Iterator[Any]:
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 1440, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    get_user_model().objects.create_superuser("ada", password="engine")
    page.goto("/login/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("engine")
    page.get_by_role("button", name="Sign in").click()
    yield page
    context.close()
    assert complaints == []


def fill(tab: Any, **values: str) -> None:
    """Fill the fields of these names: text is typed, an option is chosen by its label."""
    for name, value in values.items():
        field = tab.locator(f"main [name={name}]")
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(label=value)
        else:
            field.fill(value)


def go(tab: Any, group: str, entry: str, link: str) -> None:
    navigation = tab.get_by_role("navigation", name="Main")
    navigation.get_by_text(group, exact=True).click()
    navigation.get_by_role("link", name=entry, exact=True).click()
    tab.locator("main").get_by_role("link", name=link).first.click()


def save(tab: Any) -> None:
    tab.locator("main form button.primary").click()
    tab.wait_for_load_state()
    assert tab.locator("main form .why").count() == 0


def add_hardware_and_price(tab: Any) -> None:
    go(tab, "Systems", "Hardware", "Add hardware")
    fill(tab, name="A box", sockets="1", cores_per_socket="2", threads_per_core="1", memory_gib="24")
    save(tab)
    go(tab, "Prices", "List prices", "Add a price")
    box = tab.locator("[name=of] option", has_text="A box").get_attribute("value")
    tab.locator("[name=of]").select_option(box)
    fill(tab, description="A box", amount="1000", currency="EUR", priced_on="2026-01-01", source="a quotation")
    save(tab)


def connect_host(tab: Any, target: Any) -> None:
    go(tab, "Systems", "Hosts", "Add a host")
    fill(tab, name="first box", address=target.address, port=str(target.port), username=target.username)
    tab.get_by_label("Work directory").fill(str(target.work_directory))
    tab.get_by_role("button", name="Add the host").click()
    install(copy_install_line(tab), target)
    tab.get_by_role("button", name="Approve this key").click()
    tab.get_by_role("button", name="Probe", exact=True).click()
    tab.get_by_role("link", name="Add an instance").first.wait_for()


def add_instance(tab: Any, cluster: Any) -> None:
    go(tab, "Systems", "Configurations", "Add a configuration")
    fill(tab, name="durable", settings="fsync = on")
    save(tab)
    go(tab, "Systems", "Instances", "Add an instance")
    option = tab.locator("[name=server] option", has_text=str(cluster.bin_directory)).first
    tab.locator("[name=server]").select_option(option.get_attribute("value"))
    fill(tab, name="pg", configuration="durable", address="127.0.0.1", port=str(cluster.port))
    fill(tab, database=cluster.database, username=cluster.username, password=cluster.password or "none")
    save(tab)


def queue_experiment(tab: Any) -> None:
    go(tab, "Systems", "Workloads", "Add a workload")
    fill(tab, name="reading", script="select-only", scale="1")
    save(tab)
    go(tab, "Results", "Experiments", "Plan an experiment")
    tab.get_by_role("link", name="Plan freely").click()
    tab.get_by_label("Workload").select_option(label="reading")
    tab.get_by_label("Instance").select_option(label="pg")
    tab.get_by_label("Hardware").select_option(label="A box")
    tab.get_by_label("Name", exact=True).fill("My first experiment")
    tab.get_by_label("Client levels").fill("1, 2, 4")
    tab.get_by_label("Repeats").fill("1")
    tab.get_by_label("Duration of a run, s").fill("5")
    tab.get_by_role("button", name="Queue", exact=True).click()
    tab.get_by_role("heading", name="My first experiment").wait_for()


def cancel_the_last_run(tab: Any) -> None:
    tab.get_by_role("link", name="Cancel run").last.click()
    tab.get_by_role("button", name="Cancel the run").click()
    tab.get_by_text("1 run cancelled").wait_for()


def test_a_person_goes_from_nothing_to_a_priced_comparison_by_clicking(
    tab: Any, target: Any, cluster15: Any, worker: threading.Event
) -> None:
    LicenceModel.objects.create(name="Hardware only", metric="none")
    add_hardware_and_price(tab)
    connect_host(tab, target)
    add_instance(tab, cluster15)
    queue_experiment(tab)
    cancel_the_last_run(tab)
    worker.set()  # not before: a run that is over cannot be cancelled
    tab.get_by_role("button", name="Run it again").wait_for(timeout=PATIENCE_MS)  # the page shows the end by itself
    assert sorted(Run.objects.values_list("kind", "state")) == [
        ("load", "succeeded"),
        ("measure", "cancelled"),
        ("measure", "succeeded"),
        ("measure", "succeeded"),
    ]
    tab.locator(".chart .scatterlayer .trace").first.wait_for(state="attached")
    tab.get_by_role("link", name="Compare with others").click()
    tab.locator(".price").first.wait_for()
    assert float(tab.locator(".price").first.inner_text()) > 0
