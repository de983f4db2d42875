"""A comparison: curves side by side under one state, read once. Page, document, API, CSV and steps are made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from benchhub.analysis.curves.ratio import Claim
from benchhub.analysis.words import listing
from benchhub.bench.models import Comparability, Found
from benchhub.catalog.models import LicenceModel
from benchhub.reports.curves import figures, latencies, scalability
from benchhub.reports.curves.figures import Figure
from benchhub.reports.curves.panel import Panel
from benchhub.reports.prices.pricing import Pricing
from benchhub.reports.prices.queries import price_book
from benchhub.reports.prices.table import Table, metered
from benchhub.reports.prices.terms import Terms
from benchhub.reports.prices.what_if import Subject

from . import declared, entries, queries
from .answers import answer, claims, confidence, doubts, environment, findings, lanes, levels, loads, systems
from .answers.answer import Answer
from .answers.doubts import Doubts
from .answers.findings import Finding, HostNoise
from .answers.lanes import Lanes
from .answers.levels import Row
from .answers.systems import Side
from .entries import Entries, Entry
from .state import MOST, State, missing_text

MOST_SOURCES = 3


@dataclass(frozen=True)
class Comparison:
    """Curves side by side, as `state` asks for them.

    `curves` are all that there are, comparable or not. `missing` are the names in the state that belong to no
    curve, and `left_out` says why each of the other names has none. `entries`, and anything made of them, need
    `is_comparable` and at least one curve.
    """

    state: State
    curves: tuple[Entry, ...]
    missing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    declarations: tuple[Comparability, ...] = ()
    today: date | None = field(default=None)

    @classmethod
    def load(cls, state: State, today: date | None = None) -> Comparison:
        """Read what the state names, in a number of queries that does not grow with the data.

        `today` is the day whose prices count unless the state names another; None is the day it is.
        """
        rows, runs = queries.rows(state.keys), queries.runs(state.keys)
        histograms = latencies.of_runs(run.pk for run in runs)
        curves, left_out = entries.build(rows, runs, histograms)
        return cls(
            state,
            tuple(curves),
            tuple(state.missing([(row.experiment_id, row.system_id) for row in rows])),
            tuple(left_out),
            tuple(declared.declarations(declared.groups(curves))),
            today,
        )

    @cached_property
    def problems(self) -> list[str]:
        """Return what the state asks for and this does not show, as sentences. Pages and the API show the same."""
        problems = [*self.left_out, *([missing_text(self.missing)] if self.missing else [])]
        if self.state.has_too_many:
            problems.append(f"At most {MOST} curves are compared; the first {MOST} are shown.")
        return problems

    @property
    def is_whole(self) -> bool:
        """Tell whether each curve that the state names is there."""
        return not self.missing and not self.left_out

    @cached_property
    def groups(self) -> list[list[Entry]]:
        """Return the curves by protocol and unit, the largest group first."""
        return declared.groups(self.curves)

    @property
    def is_comparable(self) -> bool:
        return len(self.groups) < 2 or bool(self.declarations)

    @cached_property
    def protocol_forms(self) -> Mapping[str, Mapping[str, Any]]:
        return queries.protocol_forms(group[0].curve.protocol_digest for group in self.groups)

    @cached_property
    def refusal(self) -> str:
        """Say why the curves are not compared; empty where they are."""
        return "" if self.is_comparable else declared.refusal(self.groups, self.protocol_forms)

    @cached_property
    def differing(self) -> list[Side]:
        """Return the fields of protocol and unit in which the groups differ."""
        return declared.differing(self.groups, self.protocol_forms)

    @cached_property
    def entries(self) -> Entries:
        return Entries(tuple(declared.as_one(self.curves) if self.declarations else self.curves), self.state.baseline)

    @property
    def baseline(self) -> Entry:
        return self.entries.baseline

    @property
    def unit(self) -> str:
        return self.entries.unit

    @cached_property
    def answer(self) -> Answer:
        """Return the answer on one card, which page, document, API and preview show."""
        return answer.answer(self.entries.curves, self.prices, confidence.confidence(self.entries, self.doubts))

    @cached_property
    def claims(self) -> list[tuple[Entry, list[Claim]]]:
        """Return the claims about each curve but the baseline, the plainest first."""
        return [(entry, claims.claims(entry, self.baseline)) for entry in self.entries.others]

    def alone_text(self, *, is_read_only: bool = False) -> str:
        """Say what a comparison of one curve shows; empty where there are several."""
        return claims.alone(self.entries[0], is_read_only=is_read_only) if len(self.entries) == 1 else ""

    @cached_property
    def findings(self) -> list[Finding]:
        return findings.findings(self.entries, self.state.ceiling.value_ms)

    @cached_property
    def host_noise(self) -> list[HostNoise]:
        return findings.host_noise(self.entries)

    @cached_property
    def scalability(self) -> Panel:
        return scalability.panel(self.entries.curves)

    @cached_property
    def levels(self) -> list[Row]:
        return levels.levels(self.entries)

    @cached_property
    def lanes(self) -> Lanes:
        return lanes.lanes(self.levels)

    @cached_property
    def load_panels(self) -> list[Panel]:
        return loads.panels(self.entries, self.levels)

    @cached_property
    def doubts(self) -> Doubts:
        return doubts.all_doubts(self.entries.curves)

    @cached_property
    def hardware(self) -> list[Side]:
        return systems.hardware(self.entries)

    @cached_property
    def differences(self) -> list[Side]:
        return systems.differences(self.entries)

    @property
    def nothing_asked_text(self) -> str:
        return systems.nothing_asked(self.hardware)

    @cached_property
    def facts(self) -> dict[str, Found]:
        """Return the facts found around one run at each curve's peak, by the key of the curve."""
        return environment.facts_at_peaks(self.entries)

    @cached_property
    def environment(self) -> list[Side]:
        return environment.environment(self.entries, self.facts)

    @property
    def environment_remarks(self) -> list[str]:
        return environment.remarks(self.entries, self.facts)

    @cached_property
    def protocol(self) -> list[tuple[str, str]]:
        return environment.protocol(self.entries)

    @cached_property
    def throughput_figure(self) -> Figure:
        return figures.throughput_figure(self.entries.curves)

    @property
    def latency_figure(self) -> Figure:
        return figures.latency_figure(self.entries.curves)

    @property
    def is_under_way(self) -> bool:
        return any(not run.is_final for entry in self.entries for run in entry.runs)

    @property
    def demonstrations(self) -> list[Entry]:
        return [entry for entry in self.curves if entry.experiment.is_demonstration]

    @property
    def imported(self) -> list[Entry]:
        return [entry for entry in self.curves if entry.is_imported]

    @property
    def imported_text(self) -> str:
        """Name the imported curves and their sources; empty where BenchHub measured all curves."""
        texts = [f"{entry.label} was imported from {_places(entry.sources)}" for entry in self.imported]
        return f"{listing(texts)}: BenchHub did not see these runs." if texts else ""

    @cached_property
    def terms(self) -> Terms:
        return self.state.terms(self.today)

    @cached_property
    def pricing(self) -> Pricing:
        machines = [machine for entry in self.entries for machine in entry.system.machines]
        keys = [entry.key for entry in self.entries]
        book = price_book(machines, (self.terms.day, self.terms.today))
        return Pricing(self.entries.curves, keys, self.state.query, book, self.terms.today)

    @property
    def prices(self) -> Table:
        return self.pricing.table

    @property
    def subject(self) -> Subject | None:
        return self.pricing.subject

    @property
    def price_panels(self) -> list[Panel]:
        return self.pricing.panels

    @property
    def what_if_panels(self) -> list[Panel]:
        return self.pricing.what_if_panels

    @property
    def metered(self) -> list[LicenceModel]:
        """Return the licence models that have a break-even."""
        return metered(self.prices.price_book.licence_models)


def _places(sources: Sequence[str]) -> str:
    more = len(sources) - MOST_SOURCES
    return listing([*sources[:MOST_SOURCES], *([f"{more:,} more"] if more > 0 else [])])
