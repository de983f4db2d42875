"""The clean-up on the target, when what asks for it gets lost."""

from __future__ import annotations

import pytest

from benchhub.bench.models import Attempt
from tests.faults import rows
from tests.faults.rig import until

pytestmark = pytest.mark.target


def test_a_clean_up_that_failed_is_done_later_and_the_ledger_has_one_line(rig, site, system, ends_once):
    ledger = site.machine.work_directory / "ledger"
    ledger.mkdir()  # nothing can be written to it, as on a host whose disk is full
    worker = rig.both()
    runs = ends_once(rows.queue(system))
    until(lambda: "its folder on the host stays for now" in worker.log.read_text())
    assert not Attempt.objects.exclude(acknowledged_at=None).exists()
    ledger.rmdir()
    until(lambda: site.ledger)
    until(lambda: Attempt.objects.exclude(acknowledged_at=None).exists())
    assert [line.split()[0] for line in site.ledger] == [str(runs[0].uuid)]
    assert ends_once(runs)
