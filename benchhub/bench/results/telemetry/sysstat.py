"""Telemetry that somebody brings to a run out of a file of sysstat, where BenchHub observed none of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.db import transaction
from django.db.models import QuerySet

from benchhub.analysis.words import listing
from benchhub.bench.models import Event, Evidence, Run, Series, TelemetryImport
from benchhub.catalog.models import Host
from runners.telemetry.metrics import DRIVER_PREFIX
from runners.telemetry.sysstat.answer import MOST_BYTES, Machine, UnfitError
from runners.telemetry.sysstat.placed import Load, Placed, clock, place

from . import own

EVENT = "telemetry"  # as the history of a run calls it; its state stays as it is
MARGIN_S = 2
LEAST_EPOCH_S = 10**8  # a series without a date begins at 0
FILE_PREFIX = "sysstat-"
MOST_FILES = 5  # of a run; each may have MOST_BYTES
OBSERVED = "BenchHub observed this run itself: its telemetry is not mixed with that of sysstat."
NO_RESULT = "Only a run that measured something has a load beside which telemetry stands."
NO_TIME = "Nothing says when the load of this run began, so that no sample can be placed."
OTHER_HOST = "sysstat ran on {}, and the run on {}: see that this is the same machine."
OTHER_KERNEL = "sysstat saw the kernel {}, and the run was on {}: this is of another machine, or of another time."
UNMEASURED = (
    "Nobody measured when this load began. Its samples are those from the begin at {} UTC on, which was written with"
    " the import or reckoned from it, and may be of another time."
)
TOO_MANY_FILES = (
    f"The run has {MOST_FILES} files of sysstat already, which stay as evidence. It takes no other one: send one of"
    " those again."
)
BOTH = "Choose a file or paste its text, not both."
NEITHER = "Choose a file that sadf -j printed, or paste its text."


class SysstatForm(forms.Form):
    """A file that sadf -j printed, or its text."""

    file = forms.FileField(required=False, label="File", help_text=f"At most {MOST_BYTES >> 20} MiB.")
    text = forms.CharField(
        required=False,
        strip=False,
        label="Or its text",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "mono"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""

    def clean(self) -> dict[str, Any]:
        values = dict(super().clean() or self.cleaned_data)
        file, text = values.get("file"), values.get("text")
        if bool(file) == bool(text) and not self.errors:
            raise forms.ValidationError(BOTH if file else NEITHER)
        values["content"] = file.read(MOST_BYTES + 1) if file else (text or "").encode()
        return values


def refusal(run: Run) -> str:
    """Say why the run takes no telemetry of sysstat; empty where it does, also in place of an earlier file."""
    if run.kind != Run.Kind.MEASURE or not hasattr(run, "result"):
        return NO_RESULT
    if not hasattr(run, "telemetry_import") and run.telemetry.exists():
        return OBSERVED
    try:
        load_of(run)
    except UnfitError as error:
        return str(error)
    return ""


def load_of(run: Run) -> Load:
    """Return when the load of a run began by its series, or as its delivery says, and how long it was.

    Raises UnfitError where nothing says when it began.
    """
    planned_s = int(run.spec.get("duration_s") or 0)
    if (series := _dated_series(run)) is not None:
        reported_s = round(len(series.values) * series.step_s)
        # A load generator may leave out the last report; of one that was cut short the transactions lack time as well.
        is_whole = planned_s - max(reported_s, _transactions_s(run)) <= series.step_s
        return Load(series.start_epoch_s, max(planned_s, reported_s) if is_whole else reported_s)
    if run.is_imported and run.started_at:
        return Load(run.started_at.timestamp(), planned_s)
    raise UnfitError(NO_TIME)


def _dated_series(run: Run) -> Series | None:
    """Return the throughput over time, if it says when that was."""
    return run.series.filter(metric=run.result.unit.lower(), start_epoch_s__gt=LEAST_EPOCH_S).first()


def _transactions_s(run: Run) -> float:
    """Return the seconds that the counted transactions took at the throughput; 0 where they were not counted."""
    count = run.result.measures.get("transactions", {}).get("value", 0)
    return float(count / run.result.throughput) if run.result.unit == "TPS" else 0.0


def begin_doubt(run: Run) -> str:
    """Say that nobody measured when the load of a run began; empty where its load generator did."""
    if _dated_series(run) is not None:
        return ""
    return UNMEASURED.format(clock(load_of(run).begin_epoch_s))


def command(load: Load) -> str:
    """Return the line of shell that prints what is needed of a file of sadc: sadf takes times of a day, in UTC."""
    begin, end = (
        datetime.fromtimestamp(at, UTC) for at in (load.begin_epoch_s - MARGIN_S, load.end_epoch_s + MARGIN_S)
    )
    span = f"-s {begin:%H:%M:%S} -e {end:%H:%M:%S} " if begin.date() == end.date() else ""
    return f"sadf -j {span}sa{begin:%d} -- -A > sysstat.json"


def store(run: Run, content: bytes, user: Any, token: str = "") -> TelemetryImport:
    """Store what a file of sysstat says of the load, in place of an earlier file's. Raises UnfitError, which says why
    it cannot be used."""
    placed = _placed(_required(Run.objects.all(), run), content)  # it takes seconds, in which no lock is held
    with transaction.atomic():
        run = _required(Run.objects.select_for_update(of=("self",)), run)
        _forget(run)
        row = TelemetryImport.objects.create(**_fields(run, placed, content), by=user, token=token)
        run.telemetry.model.objects.bulk_create(own.rows(run, placed.telemetry))
        _note(run, f"By {user}: from {row.source_text}.")
    return row


def _required(runs: QuerySet[Run], run: Run) -> Run:
    """Return the run as it is now. Raises UnfitError where it takes no telemetry of sysstat."""
    current = runs.get(pk=run.pk)
    if reason := refusal(current):
        raise UnfitError(reason)
    return current


@transaction.atomic
def remove(run: Run, user: Any) -> bool:
    """Take away what was brought from sysstat; its file stays as evidence. False where there is nothing of it."""
    run = Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
    if not _forget(run):
        return False
    _note(run, f"Removed by {user}.")
    return True


def _forget(run: Run) -> bool:
    count, _ = TelemetryImport.objects.filter(run=run).delete()
    if count:
        run.telemetry.all().delete()
    return bool(count)


def _note(run: Run, reason: str) -> None:
    Event.objects.create(run=run, old_state=run.state, new_state=EVENT, reason=reason)


def _placed(run: Run, content: bytes) -> Placed:
    """Return the samples over the load; those of a driver that is not the server's machine are named so."""
    placed = place(content, load_of(run))
    server, driver = run.system.instance.host, run.system.driver
    if driver == server or not _is_named(driver, placed.machine) or _is_named(server, placed.machine):
        return placed
    observations = (replace(item, metric=DRIVER_PREFIX + item.metric) for item in placed.telemetry.observations)
    return replace(placed, telemetry=replace(placed.telemetry, observations=tuple(observations)))


def _is_named(host: Host | None, machine: Machine) -> bool:
    return host is not None and _first_label(machine.host) in (_first_label(host.name), _first_label(host.address))


def _first_label(name: str) -> str:
    return name.lower() if name.replace(".", "").isdecimal() else name.lower().partition(".")[0]


def _fields(run: Run, placed: Placed, content: bytes) -> dict[str, Any]:
    machine = placed.machine
    return {
        "run": run,
        "evidence": _evidence(run, content),
        "host": machine.host,
        "kernel": machine.kernel,
        "version": machine.version,
        "interval_s": placed.interval_s,
        "first_at": datetime.fromtimestamp(placed.first_epoch_s, UTC),
        "last_at": datetime.fromtimestamp(placed.last_epoch_s, UTC),
        "sample_count": placed.sample_count,
        "outside_count": placed.outside_count,
        "doubts": list(_doubts(run, machine)),
    }


def _evidence(run: Run, content: bytes) -> Evidence:
    """Return the file as evidence of the attempt that gave the result; the same file is kept once.

    Raises UnfitError where there are as many others as may be.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    files = run.result.attempt.evidence.defer("content").filter(name__startswith=FILE_PREFIX)
    name = f"{FILE_PREFIX}{sha256[:12]}.json"
    if row := files.filter(name=name).first():
        return row
    if files.count() >= MOST_FILES:
        raise UnfitError(TOO_MANY_FILES)
    return Evidence.objects.create(
        attempt=run.result.attempt, name=name, content=content, size_bytes=len(content), sha256=sha256
    )


def _doubts(run: Run, machine: Machine) -> Iterator[str]:
    """Yield why the file may be of another machine than the run's, by name and kernel, or of another time."""
    if doubt := begin_doubt(run):
        yield doubt
    hosts = list(dict.fromkeys(host for host in (run.system.instance.host, run.system.driver) if host))
    if not any(_is_named(host, machine) for host in hosts):
        name = machine.host or "a machine without a name"
        yield OTHER_HOST.format(name, listing([host.name for host in hosts]))
    kernels = _kernels(run)
    if machine.kernel and kernels and machine.kernel not in kernels:
        yield OTHER_KERNEL.format(machine.kernel, listing(kernels))


def _kernels(run: Run) -> list[str]:
    """Return the kernels of the run's hosts as found: of each by its name, or of the one that a delivery is of."""
    facts = run.found.host if hasattr(run, "found") else {}
    parts = [facts, *(part for part in facts.values() if isinstance(part, dict))]
    return list(dict.fromkeys(str(part["kernel"]) for part in parts if part.get("kernel")))
