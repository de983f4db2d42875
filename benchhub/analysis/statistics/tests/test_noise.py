import math
import random

import pytest

from benchhub.analysis.curves import ratio
from benchhub.analysis.statistics import noise


def exp(*logs):
    return [math.exp(value) for value in logs]


def test_repeats_alone_give_the_noise_of_one_run():
    # logs -0.01, 0, 0.01 and -0.02, 0, 0.02: squares 0.0002 + 0.0008 over 4 degrees, sd sqrt(0.00025) = 1.58%
    floor = noise.floor([[exp(-0.01, 0, 0.01)], [exp(0.98, 1.0, 1.02)]])
    assert floor.percent == pytest.approx(1.5811, abs=1e-4)
    assert (floor.degrees, floor.between_percent, floor.block_degrees) == (4, None, 0)


def test_a_system_measured_again_shows_what_repeats_do_not():
    # Means 0 and 0.04: between 3 x (0.02^2 + 0.02^2) = 0.0024 with 1 degree; within 0.0004 / 4 = 0.0001
    floor = noise.floor([[exp(-0.01, 0, 0.01), exp(0.03, 0.04, 0.05)]])
    assert floor.percent == pytest.approx(1.0)
    assert floor.between_percent == pytest.approx(100 * math.sqrt((0.0024 - 0.0001) / 3))
    assert floor.block_degrees == 1


def test_blocks_that_agree_better_than_their_repeats_leave_nothing_between():
    assert noise.floor([[exp(-0.01, 0, 0.01), exp(-0.01, 0, 0.01)]]).between_percent == 0


def test_too_few_repeats_say_nothing_about_a_host():
    assert noise.floor([[exp(0, 1, 2)], [exp(1)]]) is None
    assert noise.floor([]) is None


def test_the_difference_that_equal_systems_show_by_hand():
    # 2.776445 x sqrt(2 x (0 + 2^2 / 4)) = 2.776445 x sqrt(2)
    assert noise.NoiseFloor(2.0, 4, None, 0).difference_percent(4) == pytest.approx(2.776445 * math.sqrt(2))
    assert noise.NoiseFloor(2.0, 4, 3.0, 1).difference_percent(4) == pytest.approx(2.776445 * math.sqrt(20))


def test_more_noise_needs_more_repeats():
    needed = [noise.repeats_needed(percent) for percent in (0.1, 1.0, 2.0, 5.0)]
    assert needed == sorted(needed)
    assert needed[0] == 3
    assert noise.repeats_needed(2.0, 5.0) < needed[2]
    assert noise.repeats_needed(500.0) is None


def test_the_repeats_needed_see_the_difference_in_80_of_100_cases():
    source, n = random.Random(20261121), noise.repeats_needed(2.0)
    differences = sum(
        ratio.throughput_ratio(
            [1030 * (1 + source.gauss(0, 0.02)) for _ in range(n)],
            [1000 * (1 + source.gauss(0, 0.02)) for _ in range(n)],
            "TPS",
            "TPS",
        ).is_distinguishable
        for _ in range(1000)
    )
    assert 0.76 <= differences / 1000 <= 0.88


def test_simulated_blocks_are_told_from_their_repeats():
    source = random.Random(20261121)
    groups = []
    for _ in range(60):
        blocks = [source.gauss(0, 0.03) for _ in range(3)]
        groups.append([exp(*(block + source.gauss(0, 0.01) for _ in range(5))) for block in blocks])
    floor = noise.floor(groups)
    assert floor.percent == pytest.approx(1.0, rel=0.1)
    assert floor.between_percent == pytest.approx(3.0, rel=0.15)
