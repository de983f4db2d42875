"""The metrics by which licences are counted, one line each, in the order in which forms offer them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .core import CORE
from .memory import MEMORY
from .metric import Log, Metric
from .plain import FLAT, NONE, SERVER, USER
from .socket import SOCKET
from .vcpu import VCPU
from .vm_core import VM_CORE

__all__ = ["METRICS", "Log", "Metric"]

METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            NONE,
            SERVER,
            SOCKET,
            CORE,
            VCPU,
            VM_CORE,
            MEMORY,
            USER,
            FLAT,
        )
    }
)
