from functools import partial

import pytest

from benchhub.reports.tuning import testing


@pytest.fixture
def make_series(systems):
    return partial(testing.make_series, systems[0])


@pytest.fixture
def cumulative(make_series):
    """A baseline of 1,000 TPS, +12%, nothing to speak of, and +90% without durable commits."""
    return make_series(testing.CUMULATIVE)
