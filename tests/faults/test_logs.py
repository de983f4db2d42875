"""The files that a load leaves behind: gigabytes, NUL bytes, bad UTF-8, files cut short."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from benchhub.bench.models import Evidence
from tests.faults import rows
from tests.faults.rig import until

pytestmark = pytest.mark.target

FIVE_GB = 5 * 1024**3
MOST_MEMORY_MB = 400


def peak_memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def test_a_log_of_5_gb_is_left_on_the_host_and_named_and_the_result_is_kept(rig, site, system, ends_once):
    """The file is sparse: 5 GB to whoever reads it, next to nothing on the disk."""
    worker = rig.both()
    site.behave(f"truncate -s {FIVE_GB} big.log")
    [run] = ends_once(rows.queue(system, duration_s=20))  # its host looks at what was printed once in 15 s
    left = Evidence.objects.get(attempt__run=run, name="big.log")
    assert (left.size_bytes, bytes(left.content)) == (FIVE_GB, b"")
    assert "left out" in left.remark
    assert any("big.log" in remark for remark in run.result.remarks)
    assert peak_memory_mb(worker.process.pid) < MOST_MEMORY_MB


def test_progress_of_100_mb_is_read_in_pieces(rig, site, system, ends_once):
    worker = rig.both()
    site.behave("head -c 100000000 /dev/zero | tr '\\0' x >&2; echo >&2")
    [run] = ends_once(rows.queue(system, duration_s=3))
    assert Evidence.objects.get(attempt__run=run, name="err.log").size_bytes > 100_000_000
    assert peak_memory_mb(worker.process.pid) < MOST_MEMORY_MB


@pytest.mark.parametrize("bytes_", [r"\000\000", r"\377\376\300", r"\033[2J\033]0;x\007"])
def test_bytes_that_are_no_text_spoil_no_result_and_are_kept_as_they_came(rig, site, system, ends_once, bytes_):
    rig.both()
    site.behave(f"printf 'odd {bytes_} odd\\n' >&2; printf 'odd {bytes_} odd\\n'")
    [run] = ends_once(rows.queue(system, duration_s=2))
    odd = bytes_.encode().decode("unicode_escape").encode("latin-1") if "x" not in bytes_ else b"\033[2J"
    for name in ("out.log", "err.log"):
        assert odd in bytes(Evidence.objects.get(attempt__run=run, name=name).content)


def test_a_failure_whose_words_hold_nul_bytes_still_ends_the_run(rig, site, system, ends_once):
    rig.both()
    site.behave(r"printf 'pgbench: error: no \000 good \377\n' >&2; exit 1")
    [run] = ends_once(rows.queue(system), "failed")
    assert "no" in run.reason and "good" in run.reason
    assert "\0" not in run.reason


def test_a_truncated_log_fails_the_run_says_so_and_is_not_half_read(rig, site, system, ends_once):
    rig.both()
    site.behave('{real}/pgbench "$@" | head -n 6; exit 0'.replace("{real}", str(rig.server.bin_directory)))
    [run] = ends_once(rows.queue(system, duration_s=1), "failed")
    assert "cut off" in run.reason


def test_a_file_changed_after_the_run_is_not_believed(rig, site, system):
    rig.both()
    [run] = rows.queue(system, duration_s=2)
    rows.until_state(run, "running")
    site.proxy.stop()
    until(lambda: (site.folder(run) / "rc").exists())
    time.sleep(0.2)
    (site.folder(run) / "out.log").write_bytes(b"tps = 999999 (without initial connection time)\n")
    site.proxy.start()
    [ended] = rows.until_final([run])
    assert (ended.state, site.executions(run)) == ("failed", 1)
    assert not hasattr(ended, "result")
    assert "out.log" in ended.reason
