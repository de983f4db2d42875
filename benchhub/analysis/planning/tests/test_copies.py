"""Restoring by a copy, by hand: taken where there is one or several loads, time and room for it."""

from dataclasses import replace

from benchhub.analysis.planning.copies import Times, guessed_s, needed_bytes, restoring

GIB = 2**30
MEASURED, SLOW = Times(40.0, 3.0, is_measured=True), Times(3.0, 5.0, is_measured=True)


def plan(count, times=MEASURED, *, has_copy=False, is_repeated=True, free_bytes=None):
    options = {"instance": "own", "data_bytes": GIB, "free_bytes": free_bytes}
    return restoring(count, times, has_copy=has_copy, is_repeated=is_repeated, **options)


def test_the_first_of_several_loads_is_copied_and_the_others_are_restored():
    planned = plan(12)
    assert (planned.loads, planned.restores, planned.is_copied) == (1, 11, True)
    assert planned.saved_s == 11 * (40 - 3) - 3
    assert planned.sentence == (
        "The data of own are loaded once in 40 s and copied, then restored by a copy of their files, 11 times in 3 s "
        "(as measured there; a load takes 40 s). The copy takes 1.31 GiB of disk beside the data."
    )


def test_a_copy_that_is_there_is_restored_each_time():
    planned = plan(1, has_copy=True, is_repeated=False)
    assert (planned.loads, planned.restores, planned.is_copied, planned.saved_s) == (0, 1, False, 37)
    assert planned.sentence.startswith("The data of own are restored by a copy of their files, once in 3 s")


def test_nothing_is_copied_for_a_single_load_and_nothing_is_said_of_it():
    for planned in (plan(1), plan(3, is_repeated=False)):
        assert (planned.restores, planned.is_copied, planned.reason, planned.saved_s) == (0, False, "", 0)


def test_a_copy_that_takes_longer_than_a_load_is_not_taken_even_if_it_is_there():
    planned = plan(12, SLOW, has_copy=True)
    assert (planned.loads, planned.restores, planned.saved_s) == (12, 0, 0)
    assert planned.sentence == "own loads its data each time, in 3 s: a copy of their files takes 5 s."


def test_without_room_it_loads_and_says_how_much_is_needed():
    planned = plan(12, free_bytes=GIB)
    assert (planned.loads, planned.restores) == (12, 0)
    assert planned.reason == "a copy needs 1.31 GiB of disk beside the data, and 1 GiB are free"
    assert plan(12, free_bytes=needed_bytes(GIB)).restores == 11
    assert "0 bytes are free" in plan(12, free_bytes=-5).reason


def test_what_was_not_timed_yet_is_called_a_guess():
    guess = replace(MEASURED, copy_s=guessed_s(GIB), is_measured=False)
    assert guessed_s(GIB) == 1 + 1088 / 100
    assert "a guess until one has been timed" in plan(2, guess).sentence
