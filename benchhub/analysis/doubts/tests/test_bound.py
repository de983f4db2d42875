from benchhub.analysis.doubts.bound import MOST, bounded
from benchhub.analysis.doubts.doubt import weighed


def test_many_doubts_of_a_kind_push_out_neither_weightier_ones_nor_those_of_another_kind():
    doubts = [weighed("settings_differ", f"setting {number}") for number in range(MOST)]
    doubts += [weighed("overrun", "a little late"), weighed("throttled", "slow"), weighed("littles-law", "wrong")]
    weightiest, remarks = bounded(doubts, ["a remark"])
    assert len(weightiest) == MOST
    assert [doubt.code for doubt in weightiest[-2:]] == ["throttled", "littles-law"]
    assert [doubt.text for doubt in weightiest[:-2]] == [f"setting {number}" for number in range(MOST - 2)]
    assert remarks == ["a remark", "3 more doubts are left out."]


def test_the_first_remarks_stay_and_the_last_says_how_many_are_left_out():
    own = "The server's host gave no counters."
    warnings = [f"pgbench warned: {number}." for number in range(MOST)]
    doubts, remarks = bounded([], [own, *warnings])
    assert (doubts, remarks) == ([], [own, *warnings[:-1], "1 more remark is left out."])


def test_where_all_fit_they_stay_as_they_are():
    doubts = [weighed("overrun", "late"), weighed("littles-law", "wrong")]
    assert bounded(doubts, ["a"] * MOST) == (doubts, ["a"] * MOST)
