"""The steps of a tuning series in a document: what each gained, where a comparison has all of a series' curves."""

from __future__ import annotations

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.settings import shown, shown_of_os
from benchhub.analysis.tuning import words
from benchhub.analysis.words import significant
from benchhub.reports.comparison.answers.systems import Change
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.curves.figures import Figure
from benchhub.reports.tuning import answer, csv, queries
from benchhub.reports.tuning.figures import figure
from benchhub.reports.tuning.series import Series, Step

from .results import from_csv

TITLE = "What each step gained"
EFFECTS = "Effects are ratios of geometric means, with 95% intervals."
BELOW_THREE = "One of fewer than three repeats is not tested."


def series_of(comparison: Comparison) -> Series | None:
    """Return the tuning series whose measured systems are all among the curves, and no others.

    None where there is no such series: its steps would tell of results that nobody chose to publish.
    """
    experiments = {entry.experiment.pk for entry in comparison.entries}
    row = queries.series().filter(experiment__in=experiments).first() if len(experiments) == 1 else None
    series = Series.load(row) if row else None
    return series if series and series.measured_systems == {entry.system.pk for entry in comparison.entries} else None


def sections(series: Series | None) -> list[Node]:
    """Write the steps with their picture and effects; nothing while none is measured."""
    picture = figure(series) if series else {"data": []}
    if series is None or not picture["data"]:
        return []
    return [
        nodes.section(
            "steps",
            TITLE,
            [
                nodes.paragraph(answer.verdict(series), "lead"),
                nodes.figure("steps", "Each step, in % of the baseline", TITLE, picture),
                nodes.paragraph(_caption(series, picture), "caption"),
                _table(series),
            ],
        )
    ]


def tables(series: Series | None) -> list[Node]:
    """Return the effects of the steps for programs; nothing while none is measured."""
    if series is None or not figure(series)["data"]:
        return []
    text = csv.effects(series, lambda step: "; ".join(_change_texts(step)))
    return [from_csv("steps", TITLE, text, {})]


def _caption(series: Series, picture: Figure) -> str:
    ratios = [step.effect.ratio for step in series.steps if step.effect.ratio]
    is_untested = any(not ratio.is_tested and not ratio.withheld for ratio in ratios)
    return " ".join(filter(None, (picture["layout"]["meta"]["bars_text"], EFFECTS, BELOW_THREE if is_untested else "")))


def _table(series: Series) -> Node:
    columns = [
        nodes.column("Step"),
        nodes.column("Effect"),
        nodes.column("Ratio", is_number=True),
    ]
    rows = [_row(step) for step in series.steps]
    if total := series.effects.total:
        cells = [nodes.cell("Together", role="head"), nodes.cell(words.effect_text(total))]
        rows.append(nodes.row([*cells, _ratio(total.value)]))
    return nodes.table("steps-table", TITLE, columns, rows)


def _row(step: Step) -> Node:
    name = nodes.cell(f"{step.number}. {step.name}", role="head", notes=_change_texts(step))
    ratio = _ratio(step.effect.ratio.value) if step.effect.ratio else nodes.cell("–", role="missing")
    return nodes.row([name, nodes.cell(step.text), ratio])


def _ratio(value: float) -> Node:
    return nodes.cell(significant(value, 4), exact=repr(value))


def _change_texts(step: Step) -> list[str]:
    """Write what the step changes, of the settings that a published page shows."""
    return [str(change) for change in step.changes if _is_public(change)]


def _is_public(change: Change) -> bool:
    """Tell whether both sides may be shown by the list of their own layer."""
    public = shown_of_os if change.layer == "os_settings" else shown
    return all(public({change.name: value}) for value in (change.before, change.after))
