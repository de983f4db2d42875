import pytest

from benchhub.analysis.tuning.fractions import FractionError
from benchhub.analysis.tuning.treatments import (
    ALONE,
    CUMULATIVE,
    FACTORIAL,
    Environment,
    Step,
    environment_of,
    faults,
    label,
    treatments,
)


def step(name, settings=None, **os_settings):
    return Step(name, Environment(settings or {}, os_settings))


MEMORY = step("memory", {"shared_buffers": "4GB", "effective_cache_size": "12GB"})
WAL = step("wal", {"max_wal_size": "16GB"})
SMALLER = step("smaller", {"shared_buffers": "1GB"})
READ_AHEAD = step("read-ahead", read_ahead_kb="4096")
BASELINE = Environment({"shared_buffers": "128MB"})


def test_each_kind_of_series_begins_with_its_baseline():
    assert treatments(CUMULATIVE, 3) == [(), (1,), (1, 2), (1, 2, 3)]
    assert treatments(ALONE, 3) == [(), (1,), (2,), (3,)]
    assert treatments(FACTORIAL, 2) == [(), (1,), (2,), (1, 2)]
    assert treatments(FACTORIAL, 4, 8) == [(), (1, 4), (2, 4), (1, 2), (3, 4), (1, 3), (2, 3), (1, 2, 3, 4)]


def test_a_factorial_that_there_is_not_is_refused():
    with pytest.raises(FractionError):
        treatments(FACTORIAL, 1)


def test_a_later_step_overrides_what_an_earlier_one_set():
    settings = {"shared_buffers": "1GB", "effective_cache_size": "12GB", "max_wal_size": "16GB"}
    assert environment_of(BASELINE, [MEMORY, WAL, SMALLER], (1, 2, 3)) == Environment(settings)
    assert environment_of(BASELINE, [MEMORY], ()) == BASELINE


def test_a_step_of_the_operating_system_leaves_the_server_as_it_is_and_keeps_what_was_set_before_it():
    baseline = Environment({"work_mem": "4MB"}, {"read_ahead_kb": "128", "vm.swappiness": "60"})
    assert environment_of(baseline, [MEMORY, READ_AHEAD], (2,)) == Environment(
        {"work_mem": "4MB"}, {"read_ahead_kb": "4096", "vm.swappiness": "60"}
    )
    assert faults(CUMULATIVE, baseline, [READ_AHEAD, MEMORY]) == {}
    assert "changes nothing" in faults(CUMULATIVE, baseline, [READ_AHEAD, step("again", read_ahead_kb="4096")])[2][0]


def test_a_name_in_the_server_and_in_the_operating_system_is_two_settings():
    server, system = step("server", {"vm.x": "1"}), Step("os", Environment({}, {"vm.x": "1"}))
    assert faults(FACTORIAL, Environment(), [server, system]) == {}
    assert "vm.x is set by 'os'" in faults(FACTORIAL, Environment(), [system, Step("b", system.environment)])[2][0]


def test_a_treatment_is_named_by_its_last_step_or_by_all_that_it_combines():
    steps = [MEMORY, WAL]
    assert label((), steps, CUMULATIVE) == "baseline"
    assert label((1, 2), steps, CUMULATIVE) == "2. wal"
    assert label((1, 2), steps, FACTORIAL) == "memory + wal"


def test_a_step_back_to_what_is_measured_already_is_refused():
    there, back = step("there", {"work_mem": "1GB"}), step("back", {"work_mem": "4MB"})
    baseline = Environment({"work_mem": "4MB"})
    assert "as in 'baseline'" in faults(CUMULATIVE, baseline, [there, back])[2][0]
    assert "as in '1. there'" in faults(ALONE, baseline, [there, step("again", {"work_mem": "1GB"})])[2][0]
    assert faults(CUMULATIVE, baseline, [there, WAL, back]) == {}


def test_steps_that_are_sound_have_no_faults():
    assert faults(CUMULATIVE, BASELINE, [MEMORY, WAL, SMALLER]) == {}
    assert faults(FACTORIAL, BASELINE, [MEMORY, WAL]) == {}


def test_all_that_is_wrong_with_steps_is_said_at_once():
    steps = [step("Memory", {"shared_buffers": "128MB"}), step("memory"), WAL]
    sentences = faults(CUMULATIVE, BASELINE, steps)
    assert sentences.keys() == {1, 2}
    assert "changes nothing" in sentences[1][0]
    assert "name of a step before it" in sentences[2][0]
    assert "sets nothing" in sentences[2][1]


def test_a_cumulative_step_may_go_back_to_the_baseline_where_a_single_one_would_change_nothing():
    back = step("back", {"shared_buffers": "128MB"})
    assert faults(CUMULATIVE, BASELINE, [MEMORY, back]) == {}
    assert "changes nothing" in faults(ALONE, BASELINE, [MEMORY, back])[2][0]


def test_a_setting_belongs_to_one_step_of_a_factorial():
    assert "shared_buffers is set by 'memory'" in faults(FACTORIAL, BASELINE, [MEMORY, SMALLER])[2][0]
    assert faults(ALONE, BASELINE, [MEMORY, SMALLER]) == {}
