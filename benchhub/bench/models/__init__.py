"""Tables of what happens: systems, experiments, their runs, and the attempts at each."""

from .attempts import Attempt, Event
from .data_sets import NeedsDataSet, Tenancy
from .delivery import Delivery
from .design import Design, Designed, SetAside, TuningSeries, TuningStep, TuningTreatment
from .experiments import NOT_COPIED, QUEUE_ORDER, Experiment, ExperimentSystem, Run, RunQuerySet
from .growth import Grown, Growth
from .levels import LEVEL, Level
from .outcome import (
    ArchiveRule,
    CitedRun,
    Evidence,
    Found,
    LatencyHistogram,
    Result,
    RunTelemetry,
    Series,
    TelemetryImport,
)
from .queue import WEEKDAYS, Hold, LiveLog, Promise, Reservation, Watch, Window, Worker
from .recurrence import Occasion, Recurrence
from .states import ACTIVE, FINAL, EndedCount, State
from .systems import Comparability, Protocol, System
from .tallies import EndedTally, RunTally
from .webhooks import Notice, Webhook

__all__ = [
    "ACTIVE",
    "FINAL",
    "LEVEL",
    "NOT_COPIED",
    "QUEUE_ORDER",
    "WEEKDAYS",
    "ArchiveRule",
    "Attempt",
    "CitedRun",
    "Comparability",
    "Delivery",
    "Design",
    "Designed",
    "EndedCount",
    "EndedTally",
    "Event",
    "Evidence",
    "Experiment",
    "ExperimentSystem",
    "Found",
    "Grown",
    "Growth",
    "Hold",
    "LatencyHistogram",
    "Level",
    "LiveLog",
    "NeedsDataSet",
    "Notice",
    "Occasion",
    "Promise",
    "Protocol",
    "Recurrence",
    "Reservation",
    "Result",
    "Run",
    "RunQuerySet",
    "RunTally",
    "RunTelemetry",
    "Series",
    "SetAside",
    "State",
    "System",
    "TelemetryImport",
    "Tenancy",
    "TuningSeries",
    "TuningStep",
    "TuningTreatment",
    "Watch",
    "Webhook",
    "Window",
    "Worker",
]
