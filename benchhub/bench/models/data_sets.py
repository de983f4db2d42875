"""Whose data set an instance has: what an experiment needs, and the instances that it has begun on."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from benchhub.catalog.models import Instance


class NeedsDataSet(models.Model):
    """What an experiment asks of the data set of its instances, and what it does where another has begun on them."""

    class DataSetPolicy(models.TextChoices):
        WAIT = "wait", "wait until that experiment has ended"
        BETWEEN = "between", "come between, where the priority is higher"

    recipe_digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    data_set_policy = models.CharField(max_length=7, choices=DataSetPolicy, default=DataSetPolicy.WAIT)

    class Meta:
        abstract = True


class Tenancy(models.Model):
    """An experiment that has begun on an instance: its data set stays until the experiment ends or is paused."""

    instance = models.ForeignKey(Instance, models.CASCADE, related_name="tenancies")
    experiment = models.ForeignKey("Experiment", models.CASCADE, related_name="tenancies")
    begun_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["instance", "experiment"], name="tenancy_once")]

    def __str__(self) -> str:
        return f"{self.experiment} on {self.instance}"
