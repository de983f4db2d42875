"""What a keeper's log says of a run: by hand, then whatever a host may write there."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.server_settings.answer import MOST_BYTES, ServerLog, ServerValue, doubts, facts, neighbour_doubts, read_log
from runners.server_settings.parameters import read_parameters

REQUESTS = {"work_mem": "7MB"}
WHOLE = b"before work_mem 4MB\napplied work_mem 7MB\nheld\nend work_mem 7MB\nafter work_mem 4MB\nended 0\n"


def codes(log, *, is_put_back=True):
    return [doubt.code for doubt in doubts(REQUESTS, read_log(log, REQUESTS), is_put_back=is_put_back)]


def test_a_run_that_was_put_back_leaves_no_doubt():
    log = read_log(WHOLE, REQUESTS)
    assert log == ServerLog({"work_mem": ServerValue("4MB", "7MB", "7MB", "4MB")})
    assert codes(WHOLE) == []
    assert facts(log) == {"work_mem": {"before": "4MB", "applied": "7MB", "end": "7MB", "after": "4MB"}}


def test_each_thing_that_went_wrong_is_a_doubt_of_its_own():
    assert codes(WHOLE.replace(b"end work_mem 7MB", b"end work_mem 9MB")) == ["server-settings-changed"]
    assert codes(WHOLE.replace(b"end work_mem 7MB\n", b"")) == ["server-settings-changed"]
    assert codes(WHOLE.replace(b"after work_mem 4MB", b"after work_mem 7MB")) == ["server-settings-left"]
    assert codes(WHOLE.replace(b"held\n", b"held\noverdue\n")) == ["server-settings-overdue"]


def test_whether_all_is_back_is_what_the_host_says_at_the_end_and_not_what_the_log_lacks():
    killed = WHOLE.replace(b"after work_mem 4MB\nended 0\n", b"left psql: /srv/secret is away\n")
    assert codes(killed) == [] and codes(killed, is_put_back=False) == ["server-settings-left"]
    assert codes(WHOLE, is_put_back=False) == ["server-settings-left"]
    log = read_log(killed, REQUESTS)
    assert not any("secret" in doubt.text for doubt in doubts(REQUESTS, log, is_put_back=False))


def test_names_that_nobody_asked_for_are_passed_over_and_a_long_log_is_cut():
    assert read_log(b"before jit on\nbefore work_mem\nhello\n", REQUESTS).values == {}
    assert read_log(b"x\n" * MOST_BYTES + WHOLE, REQUESTS).values == {}


@given(st.binary(max_size=300) | st.text(alphabet="beforaplindt wok_m7\n\0", max_size=200).map(str.encode))
def test_whatever_a_log_says_is_read_and_storable(log):
    answer = read_log(log, REQUESTS)
    assert set(answer.values) <= {"work_mem"} and "\0" not in str(facts(answer))
    assert len(list(doubts(REQUESTS, answer, is_put_back=True))) <= 3


def test_a_server_that_names_settings_oddly_adds_none_of_them():
    empty = '"unit": null, "lowest": null, "highest": null, "choices": null'
    row = f'{{"kind": "bool", "context": "user", "default": "on", {empty}}}'
    assert read_parameters(f'{{"jit": {row}, "a b": {row}, "x;DROP": {row}}}') == {
        "jit": {"kind": "bool", "context": "user", "default": "on"}
    }


@pytest.mark.parametrize(
    "fault",
    [{"highest": "9" * 5000}, {"lowest": "abc"}, {"default": "nan"}, {"default": "--5"}, {"kind": "x"}, {"choices": 5}],
)
def test_a_setting_that_no_plan_could_reckon_with_is_no_answer(fault):
    row = {"kind": "integer", "unit": "kB", "context": "user", "lowest": "64", "highest": "2147483647"}
    honest = {**row, "default": "4096", "choices": None}
    assert read_parameters(json.dumps({"work_mem": honest}))["work_mem"]["highest"] == "2147483647"
    with pytest.raises((ValueError, TypeError)):
        read_parameters(json.dumps({"work_mem": honest, "max_connections": {**honest, **fault}}))


def test_a_run_that_changed_nothing_is_doubted_where_another_had_changed_its_server():
    assert [doubt.code for doubt in neighbour_doubts({"is_held": True})] == ["server-settings-held"]
    assert list(neighbour_doubts({"settings_changed": []})) == []
