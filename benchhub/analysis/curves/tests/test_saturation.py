"""What was full at a level: computed by hand."""

from benchhub.analysis.curves.saturation import NO_TELEMETRY, NOTHING_FULL, saturation


def test_cpu_is_full_from_90_percent_of_user_system_and_steal():
    full = saturation({"cpu_user": [80, 84], "cpu_system": [8, 8], "cpu_iowait": [2, None]})
    assert (full.words, full.is_full) == ("CPU 90%", True)
    assert full.evidence == "CPU 90% busy (user 82%, system 8%, iowait 2%)"
    below = saturation({"cpu_user": [81], "cpu_system": [8], "cpu_iowait": [11]})
    assert (below.words, below.is_full) == (NOTHING_FULL, False)


def test_cpu_that_other_guests_took_is_not_there_for_the_load():
    assert saturation({"cpu_user": [60], "cpu_steal": [35]}).words == "CPU 95%"


def test_disks_are_told_apart_where_they_were_observed_so():
    both = saturation({"data_busy": [20], "wal_disk_busy": [97], "disk_busy": [99]})
    assert both.words == "WAL disk 97%"
    assert "disks" not in both.evidence
    assert saturation({"disk_busy": [95]}).words == "disks 95%"


def test_a_wait_is_named_where_half_of_the_active_sessions_wait_for_it_and_no_sooner():
    half = saturation({"wait:IO:WalSync": [8.0], "wait:CPU": [6.0], "wait:LWLock:WALWrite": [2.0]})
    assert half.words == "IO:WalSync (50% of active sessions)"
    fewer = saturation({"wait:IO:WalSync": [7.0], "wait:CPU": [9.0]})
    assert (fewer.words, fewer.evidence) == (NOTHING_FULL, "44% of active sessions waited for IO:WalSync")


def test_sessions_that_wait_for_their_clients_are_named_and_nothing_of_the_server_is_full():
    waiting = saturation({"wait:Client:ClientRead": [9.0], "wait:CPU": [1.0]})
    assert (waiting.words, waiting.is_full) == (NOTHING_FULL, False)
    assert waiting.evidence == "90% of active sessions waited for their clients"


def test_sessions_that_work_wait_for_nothing():
    assert saturation({"wait:CPU": [16.0]}).words == NOTHING_FULL
    assert saturation({"cpu_user": [10], "wait:CPU": [0.0]}).words == NOTHING_FULL


def test_several_are_named_together_and_nothing_observed_is_said():
    assert saturation({"cpu_user": [95], "data_busy": [92]}).words == "CPU 95%, data disk 92%"
    assert saturation({}).words == NO_TELEMETRY
    assert saturation({"cpu_user": [None, None]}).words == NO_TELEMETRY
