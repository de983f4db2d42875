"""Turn what an attempt left behind into rows: evidence, measures, series, histograms, facts, data set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models.functions import Now

from benchhub.analysis import words
from benchhub.analysis.doubts import audit, verdict
from benchhub.analysis.doubts.bound import bounded
from benchhub.analysis.doubts.doubt import Doubt, weighed
from benchhub.analysis.protocol import digest
from benchhub.analysis.protocol.settings import readable_text, same_setting, server_name
from benchhub.bench.models import Attempt, Evidence, Found, LatencyHistogram, Result, Run, Series
from benchhub.bench.models.states import State
from benchhub.bench.plan import specs
from benchhub.catalog.instances.clusters import copies
from benchhub.catalog.models import DataSet
from runners import tools
from runners.contract import (
    FINGERPRINT_FAILED,
    OVERDUE_FILE,
    OVERFLOW_FILE,
    PREPARATION_FAILED,
    VERIFY_FAILED,
    Outputs,
    RunResult,
    RunSpec,
)
from runners.contract import Doubt as RunnerDoubt
from runners.readings import short
from runners.tools.layers import NO_CONNECTION, Layer, layer_of, with_layer
from runners.tools.printed import main_errors, text_of
from runners.tools.shell import NOT_LOADED, tells_of_no_data_set, unanswered_text

from . import numbers, run_facts
from .readings import Reading

STEP_CHARACTERS = 40
END_BYTES = 64 << 10
LONGEST_REASON = 1000  # of a tool or a step, so that what to do has room behind it
STEP_FAILED = (VERIFY_FAILED, PREPARATION_FAILED, FINGERPRINT_FAILED)


@dataclass(frozen=True, slots=True)
class Observed:
    """Facts around a run, already parsed: server settings and version, hosts, pooler, differences over the load.

    `remarks` and `doubts` are about what was observed beside the load: they stand beside a result, and are no reason of
    a failure.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    pooler: Mapping[str, str] = field(default_factory=dict)
    stable_facts: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    deltas: Mapping[str, Any] = field(default_factory=dict)
    restarted: bool = False
    remarks: Sequence[str] = ()
    doubts: Sequence[RunnerDoubt] = ()


def keep_evidence(attempt: Attempt, outputs: Outputs, manifest: Mapping[str, Any], remarks: Mapping[str, str]) -> None:
    """Store every file as it came, once; a file that was not brought is named with its size and checksum."""
    files_left = {"out.log": outputs.stdout, "err.log": outputs.stderr, **outputs.files}
    files = {name: content for name, content in files_left.items() if name not in remarks}
    rows = [_evidence(attempt, name, content) for name, content in files.items()]
    too_large = [
        Evidence(
            attempt=attempt,
            name=entry["name"],
            content=b"",
            size_bytes=entry["bytes"],
            sha256=entry["sha256"],
            remark=remarks.get(entry["name"], ""),
        )
        for entry in manifest.get("files", ())
        if entry["name"] not in files
    ]
    Evidence.objects.bulk_create([*rows, *too_large], ignore_conflicts=True)


def _evidence(attempt: Attempt, name: str, content: bytes) -> Evidence:
    return Evidence(
        attempt=attempt,
        name=name,
        content=content,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def store(
    run: Run,
    attempt: Attempt,
    outputs: Outputs,
    reading: Reading[RunResult],
    observed: Observed,
    remarks: Sequence[str],
) -> tuple[State, str]:
    """Turn outputs into rows; return how the run ended and a sentence: why if not well, or what a check of a data set
    has shown. A failed run gets no result."""
    result = judge(run, outputs, reading, observed)
    if result.outcome == "failed":
        reason = short(with_layer(result.reason), LONGEST_REASON)
        return State.FAILED, " ".join([reason, *_forget_data_set(run, outputs), *remarks])
    if run.kind == Run.Kind.LOAD:
        store_data_set(run, outputs)
        return State.SUCCEEDED, " ".join(filter(None, [*result.remarks, _note_copy(run, outputs)]))
    # BenchHub's own stand first: a target that sends many others pushes none of them out.
    store_result(run, attempt, replace(result, remarks=(*observed.remarks, *remarks, *result.remarks)), observed)
    _age_data_set(run, outputs)
    return State.SUCCEEDED, ""


def judge(run: Run, outputs: Outputs, reading: Reading[RunResult], observed: Observed) -> RunResult:
    """Return what the tool's parser made of the outputs; a restart of PostgreSQL fails the run, whatever they say."""
    spec = specs.spec_of(run)
    tool = tools.get(spec.tool)
    if OVERDUE_FILE in outputs.files and outputs.returncode:
        return RunResult("failed", overdue_reason(spec, outputs), tool.parser)
    if OVERFLOW_FILE in outputs.files and outputs.returncode:
        return RunResult("failed", overflow_reason(outputs), tool.parser)
    if outputs.returncode in STEP_FAILED:
        return RunResult("failed", step_reason(outputs), tool.parser)
    if spec.kind == "load" and outputs.returncode == 0 and "restored_s" in copies.read_times(outputs):
        return RunResult("succeeded", "", tool.parser)  # its load generator had nothing to do, and printed nothing
    if spec.kind == "load" and outputs.returncode == 0 and NOT_LOADED.encode() in outputs.stderr:
        return RunResult("succeeded", "", tool.parser, remarks=(NOT_LOADED,))
    result = reading.get()
    if result.outcome == "failed" or spec.kind == "load":
        return result
    if observed.restarted:
        reason = "PostgreSQL was restarted while the run was under way; its numbers are not a measurement."
        return RunResult("failed", reason, result.parser)
    return result


def overdue_reason(spec: RunSpec, outputs: Outputs) -> str:
    """Say that the host ended the command at its deadline, and at which step it was."""
    span = words.duration(spec.deadline_s)
    where = _where(outputs)
    return f"It had not ended within its deadline of {span}, so its host ended it{where}. Nothing was measured."


def overflow_reason(outputs: Outputs) -> str:
    """Say that the host ended the command as it printed without end, and at which step it was."""
    return (
        f"It printed so much that the disk would have been filled, so its host ended it{_where(outputs)}. Nothing was "
        "measured: see which messages the server sends, for example by client_min_messages of its role."
    )


def _where(outputs: Outputs) -> str:
    """Name the step at which the command was ended; empty where it had begun none."""
    *_, step = text_of(outputs.files.get("step", b"")[-END_BYTES:]).split("\n")[:-1] or [""]
    return f" at the step {step.split()[0][:STEP_CHARACTERS]}" if step.split() else ""


def _end_of(outputs: Outputs) -> str:
    """Return the end of standard error, where a step says why it failed: all of it may be 64 MiB of short lines."""
    return text_of(outputs.stderr[-END_BYTES:]).strip()


def step_reason(outputs: Outputs) -> str:
    """Say which step beside the load failed, and why: the load generator's parser would take it for the load."""
    *lines, step = _end_of(outputs).splitlines() or ["A step beside the load failed."]
    errors = main_errors("\n".join(lines))
    return f"{step.rstrip('.')}: {errors}." if errors else step


def store_result(run: Run, attempt: Attempt, result: RunResult, observed: Observed) -> None:
    """Store the rows of a measuring run that ended well."""
    differences = settings_that_differ(run, observed.settings)
    observed_doubts = [weighed(doubt.code, doubt.text) for doubt in observed.doubts]
    doubts = [*map(difference_doubt, differences), *verdict_doubts(run, result, observed), *observed_doubts]
    result_row(run, attempt, result, observed, doubts).save()
    Series.objects.bulk_create(series_rows(run, result))
    LatencyHistogram.objects.bulk_create(histogram_rows(run, result))
    _store_facts(run, observed, differences)


def result_row(
    run: Run, attempt: Attempt, result: RunResult, observed: Observed, more_doubts: Iterable[Doubt] = ()
) -> Result:
    """Return the result, unsaved, with what its parser and the audit of its numbers doubt, and with `more_doubts`."""
    parser_doubts = [weighed(doubt.code, doubt.text) for doubt in result.doubts]
    doubts, remarks = bounded([*parser_doubts, *audit_doubts(run, result, observed), *more_doubts], result.remarks)
    values = {name: measure.value for name, measure in result.measures.items()}
    throughput = result.measures[throughput_name(run)]
    return Result(
        run=run,
        attempt=attempt,
        throughput=throughput.value,
        unit=throughput.unit,
        latency_average_ms=values.get("latency_average_ms"),
        latency_p50_ms=values.get("latency_p50_ms"),
        latency_p95_ms=values.get("latency_p95_ms"),
        latency_p99_ms=values.get("latency_p99_ms"),
        measures={name: {"value": measure.value, "unit": measure.unit} for name, measure in result.measures.items()},
        doubts=[{"code": doubt.code, "text": short(doubt.text)} for doubt in doubts],
        remarks=[short(remark) for remark in remarks],
        parser=result.parser,
    )


def throughput_name(run: Run) -> str:
    """Return the name of the measure that stands for the run, and of its series: tps, mqth."""
    return tools.get(specs.spec_of(run).tool).unit.lower()


def series_rows(run: Run, result: RunResult) -> list[Series]:
    return [
        Series(
            run=run,
            metric=series.metric,
            unit=series.unit,
            start_epoch_s=series.start_epoch_s,
            step_s=series.step_s,
            values=list(series.values),
        )
        for series in result.series
    ]


def histogram_rows(run: Run, result: RunResult) -> list[LatencyHistogram]:
    return [
        LatencyHistogram(
            run=run,
            name=histogram.name,
            lower_us=list(histogram.lower_us),
            upper_us=list(histogram.upper_us),
            counts=list(histogram.counts),
            sum_us=histogram.sum_us,
            min_us=histogram.min_us,
            max_us=histogram.max_us,
            sampling_rate=histogram.sampling_rate,
        )
        for histogram in result.histograms
    ]


def _store_facts(run: Run, observed: Observed, differences: list[dict[str, str]]) -> None:
    Found.objects.create(
        run=run,
        settings=dict(observed.settings),
        server=dict(observed.server),
        host=dict(observed.host),
        pooler=dict(observed.pooler),
        deltas=dict(observed.deltas),
        differences=differences,
        facts_digest=digest.digest(digest.facts_form(observed.stable_facts)),
        limits_digest=digest.digest(digest.facts_form({"limits": observed.limits})) if observed.limits else "",
    )


def settings_that_differ(run: Run, settings: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the settings that the configuration asks for and the server did not have."""
    rows = []
    for name, configured in run.system.configuration.settings.items():
        setting = settings.get(name, settings.get(server_name(name)))
        if setting is None or not same_setting(str(configured), str(setting["setting"]), setting.get("unit")):
            actual = "not found" if setting is None else f"{setting['setting']} {setting.get('unit') or ''}".strip()
            rows.append({"name": name, "asked": str(configured), "found": actual})
    return rows


def difference_doubt(row: Mapping[str, str]) -> Doubt:
    actual = readable_text(row["found"])
    return Doubt("settings_differ", f"{row['name']} was {actual}, although {row['asked']} was asked for.")


def audit_doubts(run: Run, result: RunResult, observed: Observed) -> list[Doubt]:
    """Return a doubt where numbers of the run contradict: asked, printed, logged, and counted by the server."""
    spec = replace(specs.spec_of(run), clients=run.clients, threads=run.threads)
    # Sessions that a pooler keeps open tell of their last commits when they like: no count to hold others against.
    growth = None if spec.pooler else observed.deltas.get("pg_stat_database", {}).get("xact_commit")
    return list(audit.audit(numbers.evidence(spec, result, growth)))


def verdict_doubts(run: Run, result: RunResult, observed: Observed) -> list[Doubt]:
    """Return what else speaks against the run: its series, its failures, and what was counted around it."""
    values = {name: measure.value for name, measure in result.measures.items()}
    tps = [(series.values, series.step_s) for series in result.series if series.metric == throughput_name(run)]
    facts = run_facts.facts(run, (), values, tps[0] if tps else None, observed.deltas)
    return list(verdict.of_run(facts).doubts)


def _age_data_set(run: Run, outputs: Outputs) -> None:
    """Note how many write transactions the data set has seen since its load, where the tool could count them."""
    age = outputs.files.get("age.txt", b"").strip()
    if age.isdigit():
        DataSet.objects.filter(instance=run.system.instance_id, replaced_at=None).update(
            age_write_transactions=int(age)
        )


def lacks_data_set(outputs: Outputs) -> bool:
    """Tell whether a check before the load showed another data set, or none."""
    return outputs.returncode == VERIFY_FAILED and tells_of_no_data_set(_end_of(outputs))


def missing_server(outputs: Outputs) -> Layer | None:
    """Return what kept a step before the load from its server; None where there was none, or the server answered."""
    if outputs.returncode not in (VERIFY_FAILED, PREPARATION_FAILED):
        return None
    layer = layer_of(unanswered_text(_end_of(outputs)))
    return layer if layer in NO_CONNECTION else None


def refuses_scripts(outputs: Outputs) -> bool:
    """Tell whether a check before the load could not read a person's own script, which no later run will mend."""
    *_, sentence = _end_of(outputs).splitlines() or [""]
    return outputs.returncode == VERIFY_FAILED and sentence.startswith("The check of the scripts failed")


def _forget_data_set(run: Run, outputs: Outputs) -> list[str]:
    """Forget the data set where a check did not find it, so that the next plan loads it; return what to do."""
    if not lacks_data_set(outputs):
        return []
    recipe_digest = specs.recipe_digest(run.experiment.workload)
    current = DataSet.objects.filter(instance=run.system.instance_id, recipe_digest=recipe_digest, replaced_at=None)
    current.update(replaced_at=Now())
    return ["Plan it anew, or add repeats to its experiment: the data set is then loaded first."]


def _note_copy(run: Run, outputs: Outputs) -> str:
    """Store what became of the copy that the load might take or leave; return it as a sentence."""
    spec = specs.spec_of(run)
    if spec.cluster is None or spec.cluster.copy is None:
        return ""
    recipe = tools.get(spec.tool).data_set(spec.parameters)
    return copies.note(run.system.instance.cluster, spec.cluster.copy, recipe, outputs)


def store_data_set(run: Run, outputs: Outputs) -> None:
    """Store the data set that a load run made, in place of the one that the instance had before."""
    spec = specs.spec_of(run)
    recipe = dict(tools.get(spec.tool).data_set(spec.parameters))
    instance = run.system.instance
    size_bytes, checksum = int(outputs.files["size_bytes.txt"]), outputs.files["fingerprint.txt"].decode().strip()
    DataSet.objects.filter(instance=instance, replaced_at=None).update(replaced_at=Now())
    DataSet.objects.create(
        instance=instance,
        build=run.system.build,
        recipe=recipe,
        recipe_digest=digest.digest(recipe),
        size_bytes=size_bytes,
        checksum=checksum,
    )
