"""The three steps from an empty warehouse to a first curve."""

from __future__ import annotations

from dataclasses import dataclass

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
    """Return the steps, each done where people of this installation took it.

    Published reports bring hardware that nobody here has: what counts is that a host has been told what it is.
    """
    is_probed = Host.objects.filter(trust=Host.Trust.PINNED, facts_at__isnull=False).exists()
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
                Part("Hardware", "hardware-list", Host.objects.filter(hardware__isnull=False).exists()),
                Part("Instances", "instances", Instance.objects.current().exists()),
            ),
        ),
        FirstStep(
            "Plan the first experiment",
            "Choose one of the workloads that are there, the numbers of clients, and how often each is repeated.",
            (Part("Plan an experiment", "experiment-new"), Part("Workloads", "workloads")),
        ),
    ]
