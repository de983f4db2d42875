"""Gates keep a queued run waiting, each with its condition for the database and its sentence for people."""

from .exclusive import in_force
from .needs import MARGIN_S, host_resources, hosts, needed, resources
from .registry import CONTENTION, GATES, Gate, ready, sentences, with_gates
from .statements import (
    ALIKE,
    ALL_SYSTEMS,
    APART_SYSTEMS,
    candidates,
    free_drivers,
    gated,
    has_apart,
    is_open,
    keys_of_next,
    keys_without_data,
    next_contended,
    open_keys,
    taken_keys,
)

__all__ = [
    "ALIKE", "ALL_SYSTEMS", "APART_SYSTEMS", "CONTENTION", "GATES", "MARGIN_S", "Gate", "candidates", "free_drivers",
    "gated", "has_apart", "host_resources", "hosts", "in_force", "is_open", "keys_of_next", "keys_without_data",
    "needed", "next_contended", "open_keys", "ready", "resources", "sentences", "taken_keys", "with_gates",
]  # fmt: skip
