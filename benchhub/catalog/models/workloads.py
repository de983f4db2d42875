"""What is run and under which settings, as tables."""

from __future__ import annotations

from django.db import models

from runners.tools.pgbench.parameters import scripts_digest
from runners.tools.tatp.parameters import TRANSACTIONS

from .revised import Revised, name_constraints


class Configuration(Revised):
    """A named set of server and operating-system settings, as asked for."""

    settings = models.JSONField(default=dict, blank=True)
    os_settings = models.JSONField(default=dict, blank=True)
    volatile_storage = models.BooleanField(default=False, help_text="The data directory lies on a RAM disk.")
    remark = models.TextField(blank=True)

    class Meta:
        constraints = name_constraints("configuration")


class Workload(Revised):
    """A load generator with its parameters, the scale of its data set among them."""

    tool = models.CharField(max_length=40)
    parameters = models.JSONField(default=dict)
    remark = models.TextField(blank=True)

    class Meta:
        constraints = name_constraints("workload")
        permissions = [("write_scripts", "Can write custom scripts")]

    @property
    def script_or_mix(self) -> str:
        return str(self.parameters.get("script") or self.parameters.get("mix") or "")

    @property
    def peculiarities(self) -> str:
        """What tells workloads of one load generator, script or mix and size apart, where it is not the default."""
        asked = self.parameters
        weighed = asked.get("weights") or {}
        weights = "/".join(str(weighed.get(name, 0)) for name in TRANSACTIONS)
        distribution = asked.get("rand_type", "special")
        told = {
            weights: bool(weighed),
            "uniform keys": asked.get("keys") == "uniform",
            "forwardings last 1 to 24 hours": asked.get("population") == "original-tool",
            f"seed {asked.get('seed')}": "seed" in asked,
            f"rows drawn {distribution}": distribution != "special",
        }
        return "; ".join(words for words, is_told in told.items() if is_told)

    @property
    def size(self) -> str:
        """How much data, in the load generator's own measure; empty where it has none."""
        if "subscribers" in self.parameters:
            return f"{self.parameters['subscribers']:,} subscribers"
        if "table_size" in self.parameters:
            return f"{self.parameters.get('tables', 1):,} x {self.parameters['table_size']:,} rows"
        return f"scale {self.parameters['scale']:,}" if "scale" in self.parameters else ""

    @property
    def scripts_digest(self) -> str:
        """SHA-256 of what custom scripts send; empty for other workloads."""
        return scripts_digest(self.parameters) if self.tool == "pgbench" else ""
