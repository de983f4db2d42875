"""Faults at any moment of a run on its own cluster: nothing is left running, half made or with half its settings.

As root the runs change settings of this machine's operating system as well, which has its former ones again.

CLUSTER_FAULTS says how many are injected (`make faults-clusters FAULTS=200`), SEED which ones.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import psycopg
import pytest

from runners import counters, script
from runners.clusters.testing import broken_off, working_in
from runners.contract import DataCopy
from runners.os_settings.testing import value

pytestmark = pytest.mark.target
FAULTS, SEED = int(os.environ.get("CLUSTER_FAULTS", "1")), int(os.environ.get("SEED", "0"))
LONGEST_S = 7.0  # a run from initdb to its stop, on a machine that has nothing else to do
SETTINGS = ({"work_mem": "5MB", "shared_buffers": "20MB"}, {"work_mem": "6MB"}, {})
IN_FORCE = ({"work_mem": "5120", "shared_buffers": "2560"}, {"work_mem": "6144"}, {})
COPIES = (None, DataCopy("c" * 32, keeps=True), DataCopy("c" * 32, restores=True, keeps=True))
KINDS = ("command", "wrapper", "job", "everything", "server", "backend", "helper", "cancel", "connection")
OS_SETTINGS = ("vm.dirty_expire_centisecs", "vm.dirty_ratio")


@pytest.fixture
def helper_if_root(request):
    """Return the helper by which runs change settings of this machine; None where the tests may not."""
    return request.getfixturevalue("helper") if os.geteuid() == 0 else None


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(SEED, SEED + FAULTS))
async def test_after_any_fault_no_server_is_left_and_the_next_run_has_its_own_settings(driver, helper_if_root, seed):
    draw = random.Random(seed)
    before, values = started_at(driver.foreign), of_machine()
    await broken_run(driver, draw, KINDS[seed % len(KINDS)], helper_if_root)
    await driver.until(lambda: driver.servers == [])
    await driver.until(lambda: of_machine() == values)
    assert helper_if_root is None or not (helper_if_root.state / "before").exists()

    number = draw.randrange(len(SETTINGS))
    loaded = await driver.run(await driver.spec(SETTINGS[number], IN_FORCE[number], kind="load"))
    assert loaded.outputs.returncode == 0, loaded.outputs.stderr
    outputs = (await driver.run(await driver.spec(SETTINGS[number], IN_FORCE[number], duration_s=1))).outputs
    assert outputs.returncode == 0, outputs.stderr
    settings = counters.parse_snapshot(outputs.files[script.BEFORE_FILE]).settings
    assert settings["work_mem"]["setting"] == IN_FORCE[number].get("work_mem", "4096")
    assert settings["shared_buffers"]["setting"] == IN_FORCE[number].get("shared_buffers", "16384")
    assert driver.servers == [] and not (driver.folder / "data.making").exists()
    assert started_at(driver.foreign) == before  # the server beside it was neither stopped nor started anew


def of_machine() -> dict[str, str]:
    return {name: value(name) for name in OS_SETTINGS}


async def broken_run(driver, draw, kind, helper) -> None:
    """Run the load of a data set, with and without a copy of it, with a fault at some moment of it."""
    number, wait_s = draw.randrange(len(SETTINGS)), draw.uniform(0, LONGEST_S)
    spec = await driver.spec(
        SETTINGS[number], IN_FORCE[number], kind="load", parameters=load(draw), copy=draw.choice(COPIES)
    )
    if helper is not None:
        changed = {name: str(int(text) + 7) for name, text in of_machine().items()}
        spec = replace(spec, cluster=replace(spec.cluster, os_settings=changed))
        driver.helper = helper
    await broken_off(driver, kind, spec, wait_s, cut_after_s=draw.uniform(0, 0.3))


def load(draw) -> dict[str, object]:
    return {"script": "tpcb-like", "scale": draw.choice((1, 10))}


def started_at(cluster) -> object:
    with psycopg.connect(cluster.url) as connection:
        assert working_in(cluster.data_directory) != []
        return connection.execute("SELECT pg_postmaster_start_time()").fetchone()
