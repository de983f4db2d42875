import re

import pytest
from pytest_django.asserts import assertContains

from benchhub.bench import testdata
from benchhub.bench.models import LatencyHistogram

pytestmark = pytest.mark.django_db


def page_of(experiment):
    return f"/experiments/{experiment.pk}/"


def test_a_unit_follows_its_own_number_where_another_stands_below_it(reader, experiment, systems):
    """On a phone both stand in one line: 0.450 ms of 11,600, not 0.450 of 11,600 ms."""
    testdata.succeeded(testdata.make_run(experiment, systems[0], 8, 3), 990.0)
    for run in experiment.runs.filter(system=systems[0], clients=8):
        bins = {"lower_us": [450], "upper_us": [451], "counts": [5800], "sum_us": 1, "min_us": 450, "max_us": 450}
        LatencyHistogram.objects.create(run=run, name="latency", **bins)
    response = reader.get(page_of(experiment))
    assertContains(response, '</span><span class="under">of ')
    assertContains(response, '<span class="under">mean ')
    cells = re.findall(r"<td[^>]*data-unit[^>]*>(.*?)</td>", response.content.decode(), re.DOTALL)
    assert cells and not any("under" in cell for cell in cells)
