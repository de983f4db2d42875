"""Standbys, as the last test of an instance saw them: what a plan cannot do there."""

from __future__ import annotations

from collections.abc import Collection

from benchhub.analysis import words
from benchhub.catalog.models import Inspection, Instance

# The end of each refusal: nobody but a test sees that it was promoted.
PROMOTED = "If it was promoted since, test the instance again."
NO_WRITES = (
    "{} is a standby, which takes no writes, and {} writes: choose its primary, or a workload that only reads. "
    f"{PROMOTED}"
)
NO_LOADS = f"{{}} is a standby, whose data set is loaded on its primary: choose to load where it is missing. {PROMOTED}"
HAS_STANDBYS = (
    "{} has {}, and to load anew for each run would measure a server that is still sending its load to them: choose to "
    "load where it is missing, or stop them and test the instance again."
)
NO_VACUUM = f"{{}} is a standby, where nothing can be vacuumed: leave that out. {PROMOTED}"
NO_CHANGES = (
    "{} is a standby, and settings are changed on a primary alone: choose its primary, or grant no change of settings "
    f"and plan it as it is. {PROMOTED}"
)


def is_standby(instance: Instance) -> bool:
    """Tell whether the last test of the instance saw a standby; False where nobody ever tested it."""
    inspection = getattr(instance, "inspection", None)
    return bool(inspection and inspection.sight and inspection.sight.get("is_standby"))


def refusals_to_load(instance: Instance) -> list[str]:
    """Return why no data set is loaded anew for each run of a series there; empty where nothing speaks against it."""
    if is_standby(instance):
        return [NO_LOADS.format(instance)]
    inspection = getattr(instance, "inspection", None)
    standbys = inspection.sight.get("standbys") if inspection and inspection.sight else None
    return [HAS_STANDBYS.format(instance, words.count(standbys, "standby"))] if standbys else []


def standbys_among(instances: Collection[Instance]) -> list[Instance]:
    """Return those of the instances that the last test of each saw as a standby, in one query."""
    rows = Inspection.objects.filter(instance__in=instances, sight__is_standby=True)
    keys = set(rows.values_list("instance", flat=True))
    return [instance for instance in instances if instance.pk in keys]
