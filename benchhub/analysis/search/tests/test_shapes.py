"""The library of shapes, and how much of the belief each of them stands for."""

import numpy as np
import pytest

from benchhub.analysis.search.belief import HEIGHT_SD, _covariances
from benchhub.analysis.search.hypotheses import DIFFERENCES, JUMP, Hypotheses
from benchhub.analysis.search.shapes import LEVEL_SHARE, SHARES, library

LEVELS = np.arange(2, 161, 2, dtype=float)


def test_all_belief_is_shared_out_and_the_first_curve_is_level():
    shapes = library(LEVELS)
    assert len(shapes.curves) == len(shapes.log_shares) == 1 + sum(count for _, count in SHARES.values())
    assert np.exp(shapes.log_shares).sum() == pytest.approx(1)
    assert sum(kind.share for kind in DIFFERENCES) == pytest.approx(1, abs=0.02)
    assert not shapes.curves[0].any() and np.exp(shapes.log_shares[0]) == pytest.approx(LEVEL_SHARE)


def test_the_same_levels_give_the_same_finite_shapes_and_most_are_not_level():
    shapes = library(LEVELS)
    assert np.array_equal(shapes.curves, library(LEVELS).curves) and np.isfinite(shapes.curves).all()
    assert (np.ptp(shapes.curves[1:], axis=1) > 0.01).mean() > 0.9


def test_differences_are_alike_over_ratios_or_over_clients():
    """As far apart as they are long: exp(-1/2) of the size squared, beside the unknown height."""
    levels, length = np.array([20.0, 40, 80]), 0.25
    by_clients = [kind.axis == "clients" and kind.length == length for kind in DIFFERENCES].index(True)
    covariances = _covariances(levels)[by_clients] - HEIGHT_SD**2
    assert covariances[0, 1] == pytest.approx(0.3**2 * np.exp(-0.5))  # 20 of 80 clients
    assert covariances[1, 2] == pytest.approx(0.3**2 * np.exp(-2))  # twice as far
    by_ratios = _covariances(levels)[[kind.axis for kind in DIFFERENCES].index("ratios")]
    assert by_ratios[0, 1] == pytest.approx(by_ratios[1, 2])


def test_a_jump_without_a_shape_counts_as_often_as_is_said_and_on_a_shape_for_those_left_out():
    # No shape and 16 others, all as likely and all fitting: every eighth is tried, so three of the 17 are.
    log_levels = np.log([2.0, 4, 8, 16])
    hypotheses = Hypotheses(_covariances(np.exp(log_levels)), np.zeros(17), np.arange(4), np.zeros((17, 4)), log_levels)
    jump = JUMP._replace(alone=2, every=8)
    turned = np.zeros((len(DIFFERENCES), 17, 4), np.float32)
    weights = np.exp(hypotheses._extras(jump, hypotheses.steps, np.full(3, 1 / 3), turned).log_weights)
    assert weights.shape == (len(DIFFERENCES), hypotheses.precisions.shape[1], 3, 3)
    assert weights[..., 1] / weights[..., 0] == pytest.approx(8 / 2)
    assert weights[..., 2] == pytest.approx(weights[..., 1])
