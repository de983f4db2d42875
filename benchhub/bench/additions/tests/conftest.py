"""A plan on one system, and the colleague in whose name it recurs."""

from __future__ import annotations

from datetime import time

import pytest
from django.utils import timezone

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.additions import recurring
from benchhub.bench.plan import plan
from benchhub.catalog.models import Hardware


@pytest.fixture
def ada():
    return make_user("ada", Role.ADMINISTRATOR)


@pytest.fixture
def system():
    hardware = Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    return testing.make_system("16", testing.make_host(), hardware)


@pytest.fixture
def planned(system):
    experiment = testing.make_experiment([system], name="Nightly", client_levels=[1, 2], repeats=1)
    return plan.again(experiment)


@pytest.fixture
def recurrence(planned, ada):
    """Return the rule of every day at 22:00, which is due now; its plan has ended."""
    planned.runs.update(state="cancelled")
    rule = recurring.save_rule(
        planned,
        ada,
        weekdays=list(range(7)),
        starts_at=time(22),
        zone="UTC",
        until=None,
    )
    type(rule).objects.filter(pk=rule.pk).update(next_at=timezone.now())
    return rule
