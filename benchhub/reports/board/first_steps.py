"""The three steps from an empty warehouse, or from a demonstration, to a first curve of one's own."""

from __future__ import annotations

from dataclasses import dataclass

from benchhub.bench.models import Experiment, System
from benchhub.catalog.models import Host, Instance


@dataclass(frozen=True, slots=True)
class Part:
    """A page that a step is done on."""

    title: str
    url_name: str
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class FirstStep:
    title: str
    words: str
    parts: tuple[Part, ...]

    @property
    def is_done(self) -> bool:
        return all(part.is_done for part in self.parts)


def first_steps() -> list[FirstStep]:
    """Return the steps, each done where people of this installation took it; none once they planned an experiment.

    Published reports bring hardware that nobody here has: what counts is that a host has been told what it is. What a
    demonstration made for itself counts as little.
    """
    if Experiment.objects.filter(is_demonstration=False).exists():
        return []
    systems = System.objects.filter(experiments__is_demonstration=True)
    hosts = Host.objects.exclude(pk__in=systems.values("driver"))
    instances = Instance.objects.current().exclude(pk__in=systems.values("instance"))
    is_probed = hosts.filter(trust=Host.Trust.PINNED, facts_at__isnull=False).exists()
    return [
        FirstStep(
            "Connect a host",
            "Add the machine of the PostgreSQL server, install BenchHub's public key there, approve its own, probe it.",
            (Part("Hosts", "hosts", is_probed),),
        ),
        FirstStep(
            "Say what is measured",
            "The host's hardware as bought, with what it cost, and the PostgreSQL instance that the probe found.",
            (
                Part("Hardware", "hardware-list", hosts.filter(hardware__isnull=False).exists()),
                Part("Instances", "instances", instances.exists()),
            ),
        ),
        FirstStep(
            "Plan the first experiment",
            "Choose one of the workloads that are there, the numbers of clients, and how often each is repeated.",
            (Part("Plan an experiment", "experiment-new"), Part("Workloads", "workloads")),
        ),
    ]
