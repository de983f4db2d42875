"""A work directory that can no longer be written to while a load goes on: what has begun is ended when asked to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchhub.bench.models import Hold
from benchhub.catalog.models import Host
from tests.faults import rows
from tests.faults.cancels import cancel, goes_on, is_cancelled_within, under_way
from tests.faults.rig import until

pytestmark = [pytest.mark.target, pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")]


class Disk:
    """A file system of its own under the work directory of a site, which its kernel makes read-only after an error."""

    def __init__(self, rig, site) -> None:
        self.rig, self.work, self.image = rig, site.machine.work_directory, rig.folder / "disk"
        self.site = site
        self.image.write_bytes(bytes(8 << 20))
        subprocess.run(["mkfs.ext4", "-q", "-F", "-N", "128", str(self.image)], check=True)
        self.mount()

    def mount(self) -> None:
        options = "loop,errors=remount-ro"
        subprocess.run(["mount", "-o", options, str(self.image), str(self.work)], check=True)
        os.chown(self.work, self.rig.account.uid, self.rig.account.gid)

    def break_(self) -> None:
        source = subprocess.run(
            ["findmnt", "-no", "SOURCE", str(self.work)], check=True, capture_output=True, text=True
        ).stdout
        Path(f"/sys/fs/ext4/{Path(source.strip()).name}/trigger_fs_error").write_text("1\n")

    def use_up_inodes(self) -> None:
        number = 0
        try:
            while True:
                (self.work / f"file{number}").touch()
                number += 1
        except OSError:
            return

    def mend(self) -> None:
        """Mount it anew, as after a check; what was open stays with the old mount until it ends."""
        subprocess.run(["umount", "-l", str(self.work)], check=True)
        subprocess.run(["e2fsck", "-f", "-y", str(self.image)], check=False, capture_output=True)
        self.mount()
        for file in self.work.glob("file*"):
            file.unlink()

    def close(self) -> None:
        self.site.proxy.stop()
        self.rig.stop_daemon(self.site)
        subprocess.run(["umount", "-l", str(self.work)], check=True)


@pytest.fixture
def disk(rig, site):
    made = Disk(rig, site)
    yield made
    made.close()


@pytest.mark.parametrize("fault", [Disk.break_, Disk.use_up_inodes])
def test_a_run_under_way_is_cancelled_where_nothing_can_be_written_any_more(rig, site, system, disk, fault):
    rig.both()
    run = under_way(site, system)
    until(lambda: list(site.folder(run).glob("log/*")))  # without a file for its log there would be no load
    fault(disk)
    cancel(run)
    [ended] = rows.until_final([run], 2 * rig.lease_s + 30)
    assert ended.state == "cancelled", ended.reason
    is_cancelled_within(run, site, 0)
    assert site.executions(run) == 1
    until(lambda: not Hold.objects.exists())
    disk.mend()
    goes_on(site, system)


def test_a_load_whose_disk_becomes_read_only_is_lost_with_that_reason_and_its_host_waits_for_a_person(
    rig, site, system, disk
):
    rig.both()
    lost, after = rows.queue(system, 2, duration_s=4)
    until(lambda: site.executions(lost) == 1)
    rows.until_state(lost, "running")
    disk.break_()
    rows.until_state(lost, "lost", "failed")
    [ended] = rows.until_final([lost])
    assert "read-only" in ended.reason, ended.reason
    until(lambda: Host.objects.get(name=site.name).paused_at)
    assert (rows.state(after), site.executions(after)) == ("queued", 0)
    disk.mend()
    Host.objects.get(name=site.name).resume()
    [second] = rows.until_final([after])
    assert (second.state, site.executions(after)) == ("succeeded", 1), second.reason
