import pytest

from benchhub.analysis.doubts.idle_host import busy_percent


def test_what_is_neither_idle_nor_waiting_for_disks_is_busy():
    # 30 ticks of user, 10 of system, 150 idle, 10 of iowait: 40 of 200 are busy.
    assert busy_percent("cpu 100 0 50 1000 20 0 0 0 0 0", "cpu 130 0 60 1150 30 0 0 0 0 0") == pytest.approx(20)


def test_stolen_time_is_busy_and_time_of_guests_is_not_counted_twice():
    assert busy_percent("cpu 0 0 0 0 0 0 0 0 0 0", "cpu 0 0 0 50 0 0 0 50 90 90") == pytest.approx(50)


def test_without_time_nothing_is_known_and_counters_that_run_backwards_count_as_nothing():
    assert busy_percent("cpu 1 1 1 1 1 1 1 1", "cpu 1 1 1 1 1 1 1 1") is None
    assert busy_percent("cpu 10 0 0 100 9 0 0 0", "cpu 20 0 0 190 8 0 0 0") == pytest.approx(10)


@pytest.mark.parametrize("line", ["cpu 130 0 60 11", "cpu", "", "cpu 130 0 60 1150 30 0 0 0x"])
def test_a_line_that_a_full_disk_cut_short_tells_nothing(line):
    complete = "cpu 100 0 50 1000 20 0 0 0 0 0"
    assert busy_percent(complete, line) is None
    assert busy_percent(line, complete) is None
    assert busy_percent(line, line) is None
