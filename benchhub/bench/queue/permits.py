"""The check that a user may run on the hosts of experiments, runs and plans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied

from benchhub.accounts.rights import Role, denied_hosts, is_at_least, role
from benchhub.analysis.words import listing
from benchhub.bench.models import Experiment, Run, System
from benchhub.catalog.models import Host


def require_experiment(user: Any, experiment: Experiment) -> None:
    """Raise PermissionDenied unless the user may run on every host of the experiment's systems."""
    if role(user) != Role.ADMINISTRATOR:
        _require(user, experiment.systems.values_list("driver", "instance__host"))


def require_run(user: Any, run: Run) -> None:
    if role(user) != Role.ADMINISTRATOR:
        _require(user, System.objects.filter(runs=run).values_list("driver", "instance__host"))


def require_counting(user: Any, run: Run) -> None:
    """Raise PermissionDenied unless the user may say whether a run counts: who may run there, or a runner's own import.

    A viewer changes no figure, not even by what they imported while they were a runner.
    """
    if run.delivery is not None and run.delivery.by_id == user.pk:
        require_runner(user)
    else:
        require_run(user, run)


def require_putting_back(user: Any, run: Run) -> None:
    """Raise PermissionDenied unless the user may let a run count again: who imported it only if they set it aside."""
    if run.set_aside_by_id in (None, user.pk):
        require_counting(user, run)
    else:
        require_run(user, run)


def require_runner(user: Any) -> None:
    """Raise PermissionDenied unless the user is a runner, for actions that need no host yet."""
    _require(user, [])


def _require(user: Any, hosts: Iterable[tuple[int | None, ...]]) -> None:
    if sentence := refusal(user, [host for pair in hosts for host in pair]):
        raise PermissionDenied(sentence)


def refusal(user: Any, hosts: Iterable[int | None]) -> str:
    """Say why the user may not run on these hosts (keys; None is no host); empty if the user may."""
    if not is_at_least(user, Role.RUNNER):
        return "This takes the role of a runner, which your account does not have: ask an administrator."
    denied = denied_hosts(user, hosts)
    if not denied:
        return ""
    names = Host.objects.filter(pk__in=denied).order_by("name").values_list("name", flat=True)
    return f"Your account has no permit to run on {listing(names)}: ask an administrator for one."
