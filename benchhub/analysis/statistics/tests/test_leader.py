import pytest

from benchhub.analysis.statistics.leader import Leader


def against(**verdicts):
    return Leader(tuple(verdicts.items()))


def test_a_leader_that_is_told_apart_from_every_other_is_the_winner():
    leader = against(b="more", c="more")
    assert (leader.is_sure, leader.verdict, leader.words, leader.candidates) == (True, "", "", ())


def test_one_that_may_be_as_good_leaves_no_clear_winner_and_is_named():
    leader = against(b="more", c="not distinguishable")
    assert (leader.is_sure, leader.verdict, leader.candidates) == (False, "no clear winner", ("c",))
    assert leader.words == "no clear winner: not distinguishable from c"


def test_what_was_not_tested_is_not_said_to_be_not_distinguishable():
    leader = against(b="not tested", c="more")
    assert (leader.is_sure, leader.verdict, leader.candidates) == (False, "not tested", ())
    assert leader.words == "not tested against b, as that takes 3 repeats of each"


def test_unlike_reasons_are_said_apart():
    leader = against(b="not distinguishable", c="not tested", d="withheld")
    assert leader.verdict == "no clear winner"
    assert leader.words == (
        "no clear winner: not distinguishable from b; not tested against c, as that takes 3 repeats of each; "
        "no verdict against d, as they were run one after the other, and whatever changed on the host meanwhile looks "
        "like a difference between them"
    )


def test_where_there_is_little_room_one_is_named_and_the_reasons_are_short():
    leader = against(b="not distinguishable", c="not distinguishable", d="withheld", e="withheld", f="withheld")
    assert leader.brief == (
        "no clear winner: not distinguishable from b and 1 other; "
        "no verdict against d and 2 others, as they were not run in turns"
    )


@pytest.mark.parametrize(
    ("labels", "names"), [("bcd", "b, c and d"), ("bcde", "b, c, d and 1 other"), ("bcdef", "b, c, d and 2 others")]
)
def test_of_many_only_the_first_are_named(labels, names):
    leader = against(**dict.fromkeys(labels, "not distinguishable"), z="more")
    assert leader.words == f"no clear winner: not distinguishable from {names}"
    assert leader.candidates == tuple(labels)


def test_all_others_are_counted_where_they_are_many_and_named_where_they_are_few():
    assert against(**dict.fromkeys("bcd", "not tested")).words.startswith("not tested against b, c and d, as")
    assert against(**dict.fromkeys("bcde", "not tested")).words.startswith("not tested against any of the 4 others, as")
