"""Workloads and configurations, as tables."""

from __future__ import annotations

from django.db import models

from benchhub.analysis.tuning.treatments import Environment, environment
from runners import tools
from runners.tools.kinds import Description

from .revised import Revised, name_constraints


class Configuration(Revised):
    """A named set of server and operating-system settings, as asked for."""

    settings = models.JSONField(default=dict, blank=True)
    os_settings = models.JSONField(default=dict, blank=True)
    volatile_storage = models.BooleanField(default=False, help_text="The data directory lies on a RAM disk.")
    remark = models.TextField(blank=True)

    class Meta:
        constraints = name_constraints("configuration")

    @property
    def environment(self) -> Environment:
        """Return all settings as text, as PostgreSQL and the kernel are told them."""
        return environment(self.settings, self.os_settings)


class Workload(Revised):
    """A load generator with its parameters, the scale of its data set among them."""

    tool = models.CharField(max_length=40)
    parameters = models.JSONField(default=dict)
    remark = models.TextField(blank=True)

    class Meta:
        constraints = name_constraints("workload")
        permissions = [("write_scripts", "Can write custom scripts")]

    @property
    def description(self) -> Description:
        """Return the workload in the words of its load generator."""
        return tools.get(self.tool).describe(self.parameters)

    @property
    def size(self) -> str:
        """Return the size of the data set, in the load generator's own measure; empty where it has none."""
        return self.description.size

    @property
    def apart_text(self) -> str:
        """Return in words what sets it apart from one of the same load and size; empty where nothing does."""
        return "; ".join(self.description.peculiarities)

    @property
    def scale(self) -> int | None:
        """Return the factor that sizes the data set; None where the load generator has none."""
        return tools.get(self.tool).scale(self.parameters)

    @property
    def scripts_digest(self) -> str:
        """Return the SHA-256 of what custom scripts send; empty for other workloads."""
        return tools.get(self.tool).scripts_digest(self.parameters) if self.tool else ""
