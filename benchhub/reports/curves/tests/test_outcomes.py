from dataclasses import replace

import pytest

from benchhub.analysis.curves.ratio import VERDICTS, Ratio, throughput_ratio, without_bounds
from benchhub.reports.curves.outcomes import GREY, LOOKS, look

GAIN = throughput_ratio((110.0, 111.0, 109.0), (100.0, 101.0, 99.0), "TPS", "TPS")
UNCLEAR = throughput_ratio((110.0, 130.0, 90.0), (100.0, 120.0, 80.0), "TPS", "TPS")
SINGLE = throughput_ratio((200.0,), (100.0,), "TPS", "TPS")


@pytest.mark.parametrize("ratio", [UNCLEAR, SINGLE, without_bounds(GAIN, "the host drifted")])
def test_a_gain_that_nothing_proves_has_neither_the_colour_of_a_gain_nor_of_a_loss(ratio: Ratio):
    assert ratio.value > 1
    assert look(ratio).series == GREY
    assert look(replace(ratio, value=1 / ratio.value)) is look(ratio)


def test_a_proven_gain_and_a_proven_loss_have_colours_of_their_own():
    loss = throughput_ratio((100.0, 101.0, 99.0), (110.0, 111.0, 109.0), "TPS", "TPS")
    assert (look(GAIN).title, look(loss).title) == ("gain", "loss")
    assert len({look(GAIN).series, look(loss).series, GREY}) == 3


def test_a_gain_that_is_lost_among_several_steps_is_no_gain():
    assert look(replace(GAIN, adjusted_p=0.2)).title == "not distinguishable"


def test_every_verdict_looks_unlike_the_others_without_colour_too():
    assert set(LOOKS) == set(VERDICTS)
    for field in ("title", "pattern", "marker"):
        assert len({getattr(each, field) for each in LOOKS.values()}) == len(LOOKS)
