"""The hardware that these tests price."""

from __future__ import annotations

import pytest

from benchhub.catalog.models import Hardware


@pytest.fixture
def box():
    return Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8, memory_bytes=2**36)
