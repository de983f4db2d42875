"""The host, instances and workload that plans are made of in these tests."""

from __future__ import annotations

import pytest

from benchhub.bench import testing
from benchhub.catalog.models import Workload


@pytest.fixture
def box():
    return testing.probed_host("16.4", "18.1")


@pytest.fixture
def servers(box):
    return [testing.make_instance(box, version) for version in ("16.4", "18.1")]


@pytest.fixture
def recipe():
    return Workload.objects.create(name="select-only", tool="pgbench", parameters=testing.PARAMETERS)
