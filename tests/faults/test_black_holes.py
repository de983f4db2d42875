"""Packets dropped in the middle of a start, a look and a collection, whatever generates the load."""

from __future__ import annotations

import shutil
import time

import pytest

from benchhub.bench.models import Hold, Result, Run
from benchhub.catalog.models import Workload

from . import rows
from .rig import until

pytestmark = pytest.mark.target
TOOLS = {
    "pgbench": rows.PARAMETERS,
    "sysbench": {"script": "oltp_point_select", "tables": 1, "table_size": 1_000},
    "tatp": {"subscribers": 1_000},
}
COUNTING_SYSBENCH = """\
#!/bin/sh
case " $* " in *" run "*|*" run") echo "$PGAPPNAME" >> {folder}/executions ;; esac
exec {real} "$@"
"""
# The host says that it was asked for what a run left, and begins to hand that over when it is told to.
WAITING_SHELL = """\
#!/bin/sh
case "$SSH_ORIGINAL_COMMAND" in *"%s manifest.json"*)
echo asked >> {folder}/collections
while [ ! -e {folder}/go ]; do sleep 0.1; done ;;
esac
exec sh -c "$SSH_ORIGINAL_COMMAND"
"""


@pytest.fixture(params=TOOLS)
def queue(request, rig, site, system, server):
    """Queue a run of the tool, whose data set is loaded by then, and return it; takes fields of the experiment."""
    if request.param == "sysbench":
        real = shutil.which("sysbench")
        if not real:
            pytest.skip("sysbench is not installed: install the package sysbench")
        counting = COUNTING_SYSBENCH.format(folder=site.bin_directory, real=real)
        rig.account.write(site.bin_directory / "sysbench", counting).chmod(0o700)
    workload = Workload.objects.create(name="load", tool=request.param, parameters=TOOLS[request.param])
    rig.both()
    first = rows.until_final(rows.queue(system, duration_s=1, workload=workload))
    assert {run.state for run in first} == {"succeeded"}, [run.reason for run in first]
    return lambda **fields: {"system": system, "workload": workload, **fields}


def ends_once(run, site) -> None:
    """The run has its result after one execution and one attempt, and keeps nothing."""
    [ended] = rows.until_final([run])
    assert (ended.state, site.executions(run), ended.attempts.count()) == ("succeeded", 1, 1), ended.reason
    assert Result.objects.filter(run=run).count() == 1
    until(lambda: not Hold.objects.exists())


def test_a_start_whose_packets_are_dropped_begins_once(rig, site, queue):
    run = rows.start_whose_answer_is_held_back(rig, site, **queue())
    site.proxy.part()
    time.sleep(2 * rig.lease_s)  # the fault is to last
    assert rows.state(run) == "starting"
    site.proxy.mend()
    ends_once(run, site)


def test_a_load_that_ends_while_the_packets_of_every_look_are_dropped_is_collected(rig, site, queue):
    [run] = rows.queue(**queue(duration_s=4))
    until(lambda: site.executions(run) == 1)
    rows.until_state(run, "running")
    site.proxy.part()
    until(lambda: (site.folder(run) / "rc").exists())
    time.sleep(2 * rig.lease_s)  # the fault is to last
    assert rows.state(run) == "running" and not Result.objects.filter(run=run).exists()
    site.proxy.mend()
    ends_once(run, site)


def test_a_collection_whose_packets_are_dropped_is_taken_up_again(rig, site, queue):
    fields, shell = queue(duration_s=2), site.bin_directory / "shell"
    rig.account.write(shell, WAITING_SHELL.format(folder=site.bin_directory)).chmod(0o700)
    rig.stop_daemon(site)
    rig.start_daemon(site, f"ForceCommand {shell}\n")
    [run] = rows.queue(**fields)
    until(lambda: (site.bin_directory / "collections").exists())
    site.proxy.part()
    rig.account.write(site.bin_directory / "go", "")
    time.sleep(2 * rig.lease_s)  # the fault is to last
    assert rows.state(run) == "collecting" and not Result.objects.filter(run=run).exists()
    site.proxy.mend()
    ends_once(run, site)
    assert Run.objects.get(pk=run.pk).watch.contact_error == ""
