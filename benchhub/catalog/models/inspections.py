"""What a log-in to an instance from its driver saw, as a table."""

from __future__ import annotations

from django.db import models

from .hosts import Host
from .instances import Instance

MOST_SERVERS, MOST_OFFERED = 100, 500


class InspectionQuerySet(models.QuerySet["Inspection"]):
    def ended(self) -> InspectionQuerySet:
        """Return those that say something, with what judges them; never a password or a private key."""
        rows = self.filter(is_wanted=False).select_related("instance__build", "instance__host", "driver")
        return rows.defer("parameters", "instance__password", "instance__host__private_key", "driver__private_key")

    def databases(self, host_key: int | None) -> list[tuple[str, str]]:
        """Return the databases that the last looks at a host's servers saw, each with a server that has it, by name.

        Without a host they are those of all servers.
        """
        looks = self.filter(sight__databases__0__isnull=False)
        looks = looks if host_key is None else looks.filter(instance__host=host_key)
        rows = looks.values_list("sight__databases", "instance__name").order_by("-instance__name")[:MOST_SERVERS]
        return sorted({database: server for databases, server in rows for database in databases}.items())[:MOST_OFFERED]


class Inspection(models.Model):
    """A look at an instance from its driver, as a run would log in, that changes nothing there.

    While it is `wanted` a worker takes it soon. `sight` is what the last look saw (runners.inspection.answer.Seen),
    None where there was none; `contact_error` says why it could not be taken. `parameters` are those that the server
    knows, where runs may change them.
    """

    instance = models.OneToOneField(Instance, models.CASCADE, related_name="inspection")
    driver = models.ForeignKey(Host, models.CASCADE, related_name="+")
    is_wanted = models.BooleanField(default=True, editable=False)
    visit_until = models.DateTimeField(null=True, blank=True, editable=False)
    contact_error = models.TextField(blank=True, editable=False)
    sight = models.JSONField(null=True, blank=True, editable=False)
    parameters = models.JSONField(default=dict, blank=True, editable=False)
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = InspectionQuerySet.as_manager()

    def __str__(self) -> str:
        return f"test of {self.instance}"

    @classmethod
    def ask(cls, instance: Instance, driver: Host) -> Inspection:
        """Have a worker look soon; what was seen before is gone, as it may be of another driver."""
        anew = {"driver": driver, "is_wanted": True, "visit_until": None, "contact_error": ""}
        nothing: dict[str, object] = {"sight": None, "parameters": {}, "seen_at": None}
        return cls.objects.update_or_create(instance=instance, defaults={**anew, **nothing})[0]
