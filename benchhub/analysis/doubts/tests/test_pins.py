"""When in its run a doubt arose: computed by hand from short series."""

from benchhub.analysis.doubts import steadiness, verdict
from benchhub.analysis.doubts.doubt import Doubt
from benchhub.analysis.doubts.pins import Grid, Pin, pins, spans_above
from benchhub.analysis.doubts.verdict import RunFacts

STALLED = [100.0] * 12 + [0.0] * 3 + [100.0] * 15


def doubts_of(values):
    steady = steadiness.of_series(values)
    return verdict.of_run(RunFacts(clients=1, duration_s=len(values), steadiness=steady)).doubts, steady


def test_a_stall_is_pinned_to_its_seconds():
    doubts, steady = doubts_of(STALLED)
    pin = next(pin for pin in pins(doubts, steady, {}) if "stood still" in pin.doubt.text)
    assert pin.spans_s == ((12.0, 15.0),)
    assert pin.place == "12 to 15 s"


def test_seconds_that_nobody_knows_do_not_move_a_stall():
    values = [None, None, *STALLED]
    _, steady = doubts_of(values)
    assert steady.stall_spans_s == ((14.0, 17.0),)
    assert steady.stalls_s == (3.0,)


def test_a_warm_up_that_reaches_into_the_load_is_pinned_to_its_beginning():
    doubts, steady = doubts_of([20.0] * 6 + [100.0 + i % 2 for i in range(34)])
    pin = next(pin for pin in pins(doubts, steady, {}) if "warm-up reaches" in pin.doubt.text)
    assert pin.spans_s == ((0.0, 6.0),)


def test_a_variation_and_a_doubt_without_seconds_are_of_the_whole_run():
    doubts, steady = doubts_of([60.0, 140.0] * 20)
    by_text = {pin.doubt.text: pin for pin in pins([*doubts, Doubt("rate", "Numbers differ.")], steady, {})}
    assert {pin.place for pin in by_text.values()} == {"whole run"}
    assert [pin.number for pin in by_text.values()] == list(range(1, len(by_text) + 1))


def test_heat_and_steal_are_pinned_by_what_was_observed():
    series = {"throttled": Grid([0, 0, 3, 0, None, 0], 2.0), "cpu_steal": Grid([0.9, 1.0, 1.1], 1.0)}
    doubts = [Doubt("throttled", "Slowed down by heat."), Doubt("stolen-cpu", "Stolen.")]
    assert pins(doubts, None, series) == [
        Pin(1, doubts[0], ((4.0, 6.0),)), Pin(2, doubts[1], ((2.0, 3.0),)),
    ]  # fmt: skip


def test_without_a_series_heat_is_of_the_whole_run():
    assert pins([Doubt("throttled", "Slowed down by heat.")], None, {})[0].spans_s == ()


def test_spans_two_seconds_apart_are_one_and_three_apart_are_two():
    assert spans_above(Grid([1, 0, 0, 1], 1.0), 0) == ((0.0, 4.0),)
    assert spans_above(Grid([1, 0, 0, 0, 1], 1.0), 0) == ((0.0, 1.0), (4.0, 5.0))
