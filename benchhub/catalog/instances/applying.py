"""Which configurations runs may have on an instance: on a cluster of BenchHub's own, or on somebody's server."""

from __future__ import annotations

from benchhub.analysis.tuning.treatments import Layer
from benchhub.catalog.models import Configuration, Instance

from . import grants
from .clusters import settings


def refusals(instance: Instance, configuration: Configuration) -> list[str]:
    """Return a sentence for each setting that cannot be applied to the instance; empty if all can."""
    return [sentence for sentences in refusals_by_layer(instance, configuration).values() for sentence in sentences]


def refusals_by_layer(instance: Instance, configuration: Configuration) -> dict[Layer, list[str]]:
    """Return the sentences as `refusals` does, those of the operating system apart from the server's."""
    if cluster := instance.own_cluster:
        return settings.refusals_by_layer(cluster, configuration)
    return grants.refusals_by_layer(instance, configuration)
