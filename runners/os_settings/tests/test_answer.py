"""What is read from the helper's log, and what is doubted by it."""

from runners.os_settings.answer import MOST_BYTES, OsLog, OsValue, doubts, facts, read_log

LOG = b"""before vm.swappiness 60
applied vm.swappiness 1
held
end vm.swappiness 1
after vm.swappiness 60
ended 0
"""
REQUESTS = {"vm.swappiness": "1"}


def codes(log: bytes) -> list[str]:
    return [doubt.code for doubt in doubts(REQUESTS, read_log(log))]


def test_the_four_moments_of_a_setting_are_read():
    assert read_log(LOG) == OsLog({"vm.swappiness": OsValue("60", "1", "1", "60")})
    assert facts(read_log(LOG)) == {
        "vm.swappiness": {"before": "60", "applied": "1", "end": "1", "after": "60"},
    }
    assert codes(LOG) == []


def test_a_value_that_somebody_else_changed_is_doubted():
    [doubt] = doubts(REQUESTS, read_log(LOG.replace(b"end vm.swappiness 1", b"end vm.swappiness 77")))
    assert doubt.code == "os-settings-changed"
    assert doubt.text == (
        "vm.swappiness was 77 at the end of the run, although 1 had been set: something else changed it."
    )


def test_a_setting_that_was_not_put_back_is_doubted():
    [doubt] = doubts(REQUESTS, read_log(LOG.replace(b"after vm.swappiness 60", b"after vm.swappiness 1")))
    assert doubt.code == "os-settings-left"
    assert doubt.text == "vm.swappiness was 60 before the run and is 1 after it: it was not put back."


def test_a_setting_that_was_put_back_after_its_helper_was_killed_is_not_called_left():
    killed = LOG[: LOG.index(b"end ")] + b"ended 137\nrestored\n"
    assert codes(killed) == ["os-settings-changed"]
    assert codes(killed.replace(b"restored", b"left swappiness")) == ["os-settings-changed", "os-settings-left"]


def test_settings_that_were_let_go_at_the_deadline_are_doubted():
    [doubt] = doubts(REQUESTS, read_log(LOG.replace(b"held", b"held\noverdue")))
    assert doubt.code == "os-settings-overdue"


def test_a_log_that_breaks_off_is_doubted_and_not_guessed():
    assert codes(b"") == ["os-settings-changed"]
    assert codes(LOG[:70]) == ["os-settings-changed", "os-settings-left"]


def test_what_a_hostile_target_writes_is_passed_over():
    hostile = b"before vm.swappiness <script>\nend ../x 1\nbefore kernel.sem 1\nend vm.swappiness " + b"9" * 31 + b"\n"
    assert read_log(hostile + b"\xff\0\r\n" * 3) == OsLog({})
    assert read_log(b"x" * MOST_BYTES + b"\n" + LOG) == OsLog({})
