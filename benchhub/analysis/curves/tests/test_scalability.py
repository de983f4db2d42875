import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.curves.scalability import fit

LEVELS = (1, 2, 4, 8, 16, 32, 64)


def law(n, single=1000.0, contention=0.02, coherency=0.0005):
    return single * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def noisy(source, noise, repeats=5, **parameters):
    return {n: [law(n, **parameters) * (1 + source.gauss(0, noise)) for _ in range(repeats)] for n in LEVELS}


def test_a_curve_that_is_the_law_gives_its_parameters_back():
    model = fit({n: [law(n)] for n in LEVELS})
    assert model.single.value == pytest.approx(1000)
    assert model.contention.value == pytest.approx(0.02)
    assert model.coherency.value == pytest.approx(0.0005)
    assert model.peak_clients == pytest.approx(math.sqrt(0.98 / 0.0005))  # 44.3
    assert not model.peaks_beyond_the_data
    assert all(abs(residual) < 1e-6 for residual in model.residuals_percent.values())


def test_without_coherency_it_only_rises_and_its_peak_is_not_in_the_data():
    model = fit({n: [law(n, coherency=0.0)] for n in LEVELS})
    assert model.coherency.value == pytest.approx(0, abs=1e-9)
    assert model.peaks_beyond_the_data


def test_parameters_are_never_negative():
    model = fit({n: [1000.0 * n**1.1] for n in LEVELS})  # faster than linear
    assert (model.contention.value, model.coherency.value) == (0, 0)
    assert model.contention.high is None


def test_four_levels_are_too_few_for_three_parameters():
    assert fit({n: [law(n)] for n in (1, 2, 4, 8)}) is None


def test_a_peak_beyond_the_data_is_called_so():
    model = fit({n: [law(n)] for n in (1, 2, 4, 8, 16)})
    assert model.highest_clients == 16
    assert model.peak_clients == pytest.approx(44.3, abs=0.1)
    assert model.peaks_beyond_the_data


def test_a_curve_of_another_shape_is_told_from_the_law():
    source = random.Random(20261121)
    two_humps = {n: [value * (0.7 if n == 8 else 1) for value in values] for n, values in noisy(source, 0.01).items()}
    assert not fit(two_humps).holds
    assert fit(two_humps).residuals_percent[8] < -10
    assert fit(noisy(source, 0.01)).holds


def test_without_repeats_nothing_is_said_about_the_fit():
    assert fit({n: [law(n) * (1.01 if n % 3 else 0.99)] for n in LEVELS}).lack_of_fit_p is None


def test_the_intervals_of_the_parameters_cover_the_truth_in_95_of_100_fits():
    source, runs = random.Random(20261121), 300
    laws = [fit(noisy(source, 0.02)) for _ in range(runs)]
    truths = {"single": 1000, "contention": 0.02, "coherency": 0.0005}
    for name, truth in truths.items():
        covered = sum(getattr(fitted, name).low <= truth <= getattr(fitted, name).high for fitted in laws)
        assert 0.915 <= covered / runs <= 0.98, name  # three standard errors of 1.3%


@given(st.floats(10, 1e5), st.floats(0.001, 0.3), st.floats(1e-6, 1e-2))
def test_any_curve_that_is_the_law_is_found(single, contention, coherency):
    model = fit({n: [law(n, single, contention, coherency)] for n in LEVELS})
    assert model.throughput(20) == pytest.approx(law(20, single, contention, coherency), rel=1e-6)
