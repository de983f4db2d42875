"""Results that were measured elsewhere: one as JSON, or many as NDJSON, all or none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers as drf
from rest_framework.fields import empty
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.words import count, listing
from benchhub.api.core import bodies, parsers, problems
from benchhub.api.core.json_forms import Strict
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.bench import models
from benchhub.bench.plan import specs
from benchhub.bench.results.imports import store
from benchhub.bench.results.imports.lines import (
    HIGHEST_RATE_TPS,
    WHOLE_RATES,
    Conditions,
    Fault,
    ImportedRun,
    Place,
    RejectedError,
)
from runners import tools
from runners.contract import Outputs
from runners.readings import storable_facts

MOST_LINES = 20_000
MOST_LINE_FAULTS = 20
DAY_S = 86_400
KEY = {"max_length": 60}
MOST_FILES = 20
MOST_SETTINGS = 2_000  # PostgreSQL 18 has 400
MOST_SYSTEMS = 1_000
# '16.4 (Debian 16.4-1.pgdg120+1)', 'PostgreSQL 18beta1', '1.1.0-3ceba0b'.
VERSION = re.compile(
    r"(?:(?:PostgreSQL|pgbench|sysbench) )?"
    r"([0-9]{1,2}(?:(?:\.[0-9]{1,3}){1,2}|(?:\.[0-9]{1,3})?(?:devel|(?:alpha|beta|rc)[0-9]{1,2})))(?:[ ,+~-].*)?"
)
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
NAMES_TAKEN = ("out.log", "err.log", "brought.json")
FILE_NAME_RULE = "write letters, digits, points and dashes; what was printed belongs into stdout and stderr."
PRINTED = """pgbench (18.1)
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 8
number of threads: 8
duration: 60 s
number of transactions actually processed: 1200000
number of failed transactions: 0 (0.000%)
latency average = 0.400 ms
initial connection time = 12.000 ms
tps = 20004.000000 (without initial connection time)
"""
EXAMPLE = {
    "experiment": "nightly of main",
    "source": "https://ci.example.org/jobs/4711",
    "workload": "select-only",
    "client_version": "18.1",
    "clients": 8,
    "duration_s": 60,
    "measured_at": "2026-01-31T02:00:00Z",
    "system": {
        "host": "ci-1", "hardware": "CI machine", "configuration": "defaults", "postgresql": "18.1", "path": "socket",
    },
    "output": {"stdout": PRINTED},
}  # fmt: skip


class VersionSent(drf.CharField):
    """A version as its program prints it; what a distribution adds to it is left out."""

    LONGEST = 100

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=self.LONGEST, **options)

    def to_internal_value(self, data: Any) -> str:
        match = VERSION.fullmatch(super().to_internal_value(data))
        if not match:
            raise drf.ValidationError("Write the version with its minor number, as the program prints it: 18.1.")
        return match[1]


class SystemBrought(Strict):
    """By name: hardware and configuration as in the catalogue; hosts need not be there."""

    host = drf.CharField(**KEY, help_text="Where the server ran.")
    driver = drf.CharField(**KEY, required=False, help_text="Where the load generator ran; left out: there too.")
    hardware = drf.CharField(max_length=120, help_text="Prices are counted by it.")
    configuration = drf.CharField(max_length=120)
    postgresql = VersionSent(help_text="Version of the server: 18.1.")
    path = drf.ChoiceField(choices=models.System.Path.choices)
    label = drf.CharField(max_length=160, required=False)

    def run_validation(self, data: Any = empty) -> Any:
        """Check each system once: most lines of a request are of few."""
        valid: dict[str, Any] = self.__dict__.setdefault("_valid", {})
        key = repr(data)
        if len(valid) > MOST_SYSTEMS:
            valid.clear()
        if key not in valid:
            valid[key] = super().run_validation(data)
        return valid[key]


NEEDED_FILES = " ".join(
    f"{tool.kinds[0].title} needs {listing(tool.needed_files)}." for tool in tools.TOOLS.values() if tool.needed_files
)


class Texts(drf.DictField):
    """Texts by names, so many at most: they are counted before any is looked at."""

    def __init__(self, *, most: int, too_many: str, **options: Any) -> None:
        super().__init__(**options)
        self.most, self.too_many = most, too_many

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and len(data) > self.most:
            raise drf.ValidationError(self.too_many)
        return super().to_internal_value(data)


class OutputBrought(Strict):
    """The whole output of the load generator, and the other files that some leave."""

    stdout = drf.CharField(max_length=1_000_000, trim_whitespace=False, allow_blank=True)
    stderr = drf.CharField(max_length=4_000_000, trim_whitespace=False, required=False, allow_blank=True)
    returncode = drf.IntegerField(
        required=False, min_value=-255, max_value=255, help_text="Its exit code; left out, it is not known."
    )
    log_sampling_rate = drf.FloatField(
        min_value=1e-9, max_value=1, required=False, help_text="Share of transactions in its log; left out: all."
    )
    files = Texts(
        most=MOST_FILES,
        too_many=f"At most {MOST_FILES} files are kept of a run.",
        child=drf.CharField(max_length=4_000_000, trim_whitespace=False, allow_blank=True),
        required=False,
        help_text=f"Their text by their names. {NEEDED_FILES}",
    )

    def validate_files(self, files: Mapping[str, str]) -> Mapping[str, str]:
        for name in files:
            if not FILE_NAME.fullmatch(name) or name in NAMES_TAKEN:
                raise drf.ValidationError(f"'{name[:60]}' is no name for a file here: {FILE_NAME_RULE}")
        return files


class NumbersBrought(Strict):
    throughput = drf.FloatField(min_value=1e-6, max_value=1e12)
    unit = drf.CharField(max_length=12, help_text="That of the load generator: TPS.")
    latency_average_ms = drf.FloatField(required=False, min_value=0, max_value=1e9)
    latency_p50_ms = drf.FloatField(required=False, min_value=0, max_value=1e9)
    latency_p95_ms = drf.FloatField(required=False, min_value=0, max_value=1e9)
    latency_p99_ms = drf.FloatField(required=False, min_value=0, max_value=1e9)


class Moment(drf.DateTimeField):
    """A time that says its zone."""

    def enforce_timezone(self, value: datetime) -> datetime:
        if value.tzinfo is None:
            raise drf.ValidationError("Write the time with its zone: 2026-01-31T02:00:00Z.")
        aware: datetime = super().enforce_timezone(value)
        return aware


class ResultRequest(Strict):
    """One measured run. Those of one experiment, under the same conditions, stand together."""

    experiment = drf.CharField(max_length=160, help_text="The experiment that it is to stand in; made if it is new.")
    source = drf.CharField(max_length=300, help_text="Whence: a job, a file, an address.")
    workload = drf.CharField(max_length=120, help_text="Its name in the catalogue.")
    client_version = VersionSent(help_text="Of the client program: 18.1.")
    clients = drf.IntegerField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        help_text="Left out: as the output says, also where it holds runs of several numbers of clients.",
    )
    repeat = drf.IntegerField(min_value=1, max_value=1_000_000, required=False, help_text="Left out: the next.")
    duration_s = drf.IntegerField(min_value=1, max_value=DAY_S)
    warmup_s = drf.IntegerField(min_value=0, max_value=DAY_S, required=False)
    thread_rule = drf.CharField(
        max_length=20, required=False, help_text="clients, clients/2, or a number. Left out: as the output says."
    )
    rate_tps = drf.IntegerField(
        min_value=1,
        max_value=HIGHEST_RATE_TPS,
        required=False,
        error_messages={"invalid": WHOLE_RATES},
        help_text="What was offered in an open loop (pgbench -R). Left out: as fast as it could.",
    )
    vacuum = drf.BooleanField(required=False)
    checkpoint = drf.BooleanField(required=False)
    measured_at = Moment(help_text="When the measured part began.")
    system = SystemBrought()
    output = OutputBrought(required=False)
    numbers = NumbersBrought(required=False, help_text="Where there is no output: parsed already.")
    settings = Texts(
        most=MOST_SETTINGS,
        too_many=f"At most {MOST_SETTINGS:,} settings are kept of a run.",
        child=drf.CharField(max_length=4000, allow_blank=True),
        required=False,
        help_text="Of the server, as found.",
    )
    facts = drf.DictField(required=False, help_text="Of the host, as found.")

    def validate_facts(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Take facts as those of a host are taken: what no host can mean is left out."""
        return storable_facts(facts)

    def validate_thread_rule(self, rule: str) -> str:
        try:
            specs.resolve_threads(rule, 1)
        except ValueError as error:
            raise drf.ValidationError(str(error)) from error
        return rule

    def validate_measured_at(self, at: Any) -> Any:
        if at > timezone.now() or at.year < 1990:
            raise drf.ValidationError("Write a time that has passed: 2026-01-31T02:00:00Z.")
        return at

    def validate(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if ("output" in values) == ("numbers" in values):
            raise drf.ValidationError("Send either output, as the load generator printed it, or numbers.")
        return values


class DeliveryShown(RowSerializer):
    by = drf.SlugRelatedField(slug_field="username", read_only=True)

    class Meta:
        model = models.Delivery
        fields: Any = ("id", "url", "by", "token", "at", "run_count")


class DeliveryMade(DeliveryShown):
    experiments = drf.ListField(child=drf.CharField(), help_text="Where the results stand now.")
    runs = drf.ListField(child=drf.IntegerField(), help_text="In the order in which they came.")

    class Meta(DeliveryShown.Meta):
        fields: Any = (*DeliveryShown.Meta.fields, "experiments", "runs")


class Deliveries(ReadView):
    """A delivery says who imported results, and when."""

    queryset = models.Delivery.objects.select_related("by").order_by("pk")
    serializer_class = DeliveryShown
    parser_classes = (parsers.Json, parsers.Ndjson)
    write_scope = "ingest"
    filterset_fields: ClassVar[Any] = {"by__username": ["exact"], "at": ["gte", "lte"]}

    @extend_schema(
        request={"application/json": ResultRequest, "application/x-ndjson": {"type": "string", "format": "binary"}},
        responses={201: DeliveryMade},
        examples=[OpenApiExample("a result", EXAMPLE, media_type="application/json", request_only=True)],
    )
    def create(self, request: Request) -> Response:
        """Import one result as JSON, or as NDJSON up to 20,000, a line each. If any has a fault, none is stored.

        A line, or the JSON, may have 2 MiB, all lines together 32 MiB. An output that holds several whole runs becomes
        as many results.
        """
        is_bulk = request._request.content_type == parsers.Ndjson.media_type
        lines = _lines(request.data) if is_bulk else [(1, request._request.body, request.data)]
        try:
            stored = store.store(_read(lines), request.user, str(request.auth or ""))
        except RejectedError as error:
            raise _rejected(error, is_bulk) from error
        data = self.get_serializer(stored.delivery).data
        data["experiments"] = [self.link("experiment-detail", experiment.pk) for experiment in stored.experiments]
        data["runs"] = stored.runs
        return Response(data, status=201, headers={"Location": data["url"]})


Line = tuple[int, bytes, Any]


def _lines(stream: Any) -> Iterator[Line]:
    """Yield (number, text, value) of each line; a value that cannot be read is a ValueError."""
    line_count = 0
    texts = bodies.lines(stream) if stream else ()  # what is empty has no bytes that a parser is asked about
    for line_count, (number, text) in enumerate(texts, start=1):
        if line_count > MOST_LINES:
            raise problems.Problem(413, f"A request may have {MOST_LINES:,} lines at most.")
        yield number, text, _value(text)
    if not line_count:
        raise problems.Problem(422, "There is no line in it: send one result in each.")


def _value(text: bytes) -> Any:
    try:
        return parsers.loads(text)
    except ValueError as error:
        return error


def _read(lines: Iterable[Line]) -> Iterator[ImportedRun | Fault]:
    """Yield the lines of the right shape, and the faults of the others."""
    shape = ResultRequest()  # one for all lines: to make it takes longer than to use it
    for number, text, value in lines:
        if isinstance(value, ValueError):
            yield Fault(number, "", f"This line is not JSON that can be kept: {value}.")
            continue
        try:
            yield _imported_run(number, text, shape.run_validation(value))
        except drf.ValidationError as error:
            for problem in islice(problems.flat(error.detail), MOST_LINE_FAULTS):
                yield Fault(number, **problem)


def _imported_run(number: int, text: bytes, sent: Mapping[str, Any]) -> ImportedRun:
    system, output = sent["system"], sent.get("output")
    place = Place(**{**system, "driver": system.get("driver", system["host"])})
    names = Conditions.__dataclass_fields__
    return ImportedRun(
        number=number,
        place=place,
        conditions=Conditions(**{name: sent[name] for name in names if name in sent}),
        source=sent["source"],
        clients=sent.get("clients"),
        measured_at=sent["measured_at"],
        repeat=sent.get("repeat"),
        output=_output(output) if output else None,
        numbers=sent.get("numbers", {}),
        settings=sent.get("settings", {}),
        facts=sent.get("facts", {}),
        text=text.decode(),
        log_sampling_rate=(output or {}).get("log_sampling_rate", 1.0),
        rate_tps=sent.get("rate_tps"),
    )


def _output(sent: Mapping[str, Any]) -> Outputs:
    files = {name: text.encode() for name, text in sent.get("files", {}).items()}
    return Outputs(sent.get("returncode"), sent["stdout"].encode(), sent.get("stderr", "").encode(), files)


def _rejected(error: RejectedError, is_bulk: bool) -> problems.Problem:
    faults = error.faults
    errors = [
        {**({"line": fault.line} if is_bulk else {}), "pointer": fault.pointer, "detail": fault.detail}
        for fault in faults
    ]
    line_count = len({fault.line for fault in faults})
    lines = f"{count(line_count, 'line')} {'has' if line_count == 1 else 'have'}"
    detail = f"Nothing was stored, because {lines} faults."
    more = "" if error.is_whole else f" After line {faults[-1].line:,} none was looked at."
    return problems.Problem(422, detail + more if is_bulk else "Nothing was stored.", errors)
