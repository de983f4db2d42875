"""Hosts that hand over what they have slowly: nothing else of BenchHub waits for them."""

import shutil
from dataclasses import replace

from benchhub.bench.models import Run
from benchhub.bench.queue import queue

from . import rows
from .rig import until

# Only a collection asks for the size of the manifest.
SLOW_STAT = """\
#!/bin/sh
[ "$*" != "-c %s manifest.json" ] || while [ -e {folder}/slow ]; do sleep 0.2; done
exec {real} "$@"
"""


def test_a_cancel_is_carried_out_while_the_only_thread_of_the_only_worker_has_begun_a_slow_collection(rig, server):
    slow, other = rig.site("slow"), rig.site("other")
    rig.stop_daemon(slow)
    rig.account.write(
        slow.bin_directory / "stat", SLOW_STAT.format(folder=slow.bin_directory, real=shutil.which("stat"))
    ).chmod(0o700)
    slow.machine = replace(slow.machine, variables=(("PATH", f"{slow.bin_directory}:/usr/bin:/bin"),))
    rig.start_daemon(slow)
    mark = rig.account.write(slow.bin_directory / "slow", "")
    rig.ticker()
    rig.worker(threads=1)
    (collected,) = rows.queue(rows.enrol(slow, server), 1, duration_s=1)
    (cancelled,) = rows.queue(rows.enrol(other, server), 1, duration_s=600)
    rows.until_state(collected, "collecting")
    rows.until_state(cancelled, "running")
    queue.ask_to_cancel(Run.objects.filter(pk=cancelled.pk))
    until(lambda: Run.objects.get(pk=cancelled.pk).state == "cancelled")
    assert Run.objects.get(pk=collected.pk).state == "collecting"
    mark.unlink()
    rows.until_final([collected])
    assert Run.objects.get(pk=collected.pk).state == "succeeded"
    assert (slow.executions(collected), other.executions(cancelled)) == (1, 1)
