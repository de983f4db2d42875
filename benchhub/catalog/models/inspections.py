"""What a look at an instance from its driver saw, as a table."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from .hosts import Host
from .instances import Instance


class Inspection(models.Model):
    """The newest look at an instance: asked for by a person, made by a worker.

    `facts` are those of runners.inspection.look.Seen at `seen_at`. `contact_error` says why there was no look.
    """

    instance = models.OneToOneField(Instance, models.CASCADE, related_name="inspection")
    driver = models.ForeignKey(Host, models.CASCADE, related_name="inspections")
    asked_at = models.DateTimeField(null=True, blank=True, editable=False)
    visit_until = models.DateTimeField(null=True, blank=True, editable=False)
    contact_error = models.TextField(blank=True, editable=False)
    facts = models.JSONField(default=dict, blank=True, editable=False)
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    def __str__(self) -> str:
        return f"look at {self.instance}"

    @classmethod
    def ask(cls, instance: Instance, driver: Host) -> None:
        """Have a worker look at the instance from the driver soon. What was seen before stays until then."""
        asked = {"driver": driver, "asked_at": Now(), "visit_until": None, "contact_error": ""}
        cls.objects.update_or_create(instance=instance, defaults=asked)

    @classmethod
    def forget(cls, instance: Instance) -> None:
        """Drop what was seen of an instance that lies elsewhere by now, or is logged in to as somebody else."""
        cls.objects.filter(instance=instance).delete()
