"""The role that a page needs, by its name in urls.py. A page that stands in no line here needs an administrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchhub.catalog.models import Instance, SourceBuild

from . import rights
from .rights import Role

VIEWERS = frozenset({
    "home", "search", "calendar", "calendar-csv", "leaderboard", "leaderboard-csv",
    "api-reference", "api-resource",
    "experiments", "experiment", "experiment-curve", "experiment-times", "recurrence",
    "run", "run-live", "run-part", "run-log", "evidence", "queue", "experiment-live",
    "compare", "published", "published-report", "presets", "design", "comparisons", "comparison", "snapshot",
    "snapshot-report", "snapshot-today", "snapshot-file", "tuning-steps", "laboratory", "run-bundle",
    "os-settings-helper",
    "run-series", "run-latency", "run-segments", "run-telemetry",
    "tuning-list", "tuning-series", "tuning-csv", "tuning-settings",
    "source-build", "source-build-log",
    "hosts", "host", "host-times", "instances", "instance-test", "cluster", "hardware-list", "prices", "price-sheets",
    "price-sheet", "price-sheet-csv", "licence-models", "exchange-rates", "configurations", "workloads", "workload",
    "account", "password-change", "token-add", "token-revoke", "logout", "standstill",
    "second-factor-add", "second-factor-recovery", "second-factor-remove",
})  # fmt: skip
# Whose experiments and runs they may touch is asked of their hosts in bench/permits.py.
RUNNERS = frozenset({
    "experiment-new", "experiment-plan", "again", "experiment-cancel", "experiment-pause", "experiment-resume",
    "experiment-move", "experiment-policy", "experiment-rerun", "experiment-times-once", "experiment-times-weekly",
    "experiment-repeats", "run-cancel", "run-rerun", "run-set-aside", "run-put-back", "time-remove", "window-remove",
    "comparison-new", "comparison-edit", "comparison-keep", "comparison-publish", "link-new", "link-pause",
    "link-resume", "link-revoke", "experiment-tags", "published-publish", "design-cancel", "design-again",
    "comparability-withdraw", "results-import", "recurrence-edit", "recurrence-pause", "recurrence-resume",
    "recurrence-end", "tuning-new", "tuning-plan", "run-telemetry-add", "run-telemetry-remove",
})  # fmt: skip
# Runners with a permit for the host whose key the address has.
ON_THE_HOST = frozenset({
    "host-probe", "host-pause", "host-resume", "host-times-once", "host-times-weekly",
    "cluster-add", "source-build-add",
})  # fmt: skip
# The same for the host of the instance whose key the address has.
ON_ITS_HOST = frozenset({"cluster-ask", "cluster-remove", "instance-test-ask"})
# The same for the host of the build whose key the address has.
ON_HOST_OF_BUILD = frozenset({"source-build-ask", "source-build-remove"})

NO_HOST = 0


def least_role(name: str) -> Role:
    if name in VIEWERS:
        return Role.VIEWER
    return Role.RUNNER if name in RUNNERS | ON_THE_HOST | ON_ITS_HOST | ON_HOST_OF_BUILD else Role.ADMINISTRATOR


def refusal(user: Any, name: str, kwargs: Mapping[str, Any]) -> str:
    """Say why the user may not open the page of this name; empty where nothing speaks against it."""
    least = least_role(name)
    if least == Role.VIEWER:
        return ""
    if not rights.is_at_least(user, least):
        return needs(least)
    return NOT_THERE if rights.denied_hosts(user, _hosts(name, kwargs)) else ""


def _hosts(name: str, kwargs: Mapping[str, Any]) -> list[int | None]:
    """Return the host whose permit the page takes; empty for pages that take none.

    An instance or build that is not there has a host that nobody has a permit for, so that its answer tells nothing.
    """
    if name in ON_ITS_HOST:
        return list(Instance.objects.filter(pk=kwargs["pk"]).values_list("host", flat=True)) or [NO_HOST]
    if name in ON_HOST_OF_BUILD:
        return list(SourceBuild.objects.filter(pk=kwargs["pk"]).values_list("host", flat=True)) or [NO_HOST]
    return [kwargs["pk"]] if name in ON_THE_HOST else []


def needs(least: Role) -> str:
    article = "an" if least == Role.ADMINISTRATOR else "a"
    return f"This takes the role of {article} {least.label}, which your account does not have: ask an administrator."


NOT_THERE = "Your account has no permit to run on this host: ask an administrator for one."
