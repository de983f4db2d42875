"""The steps of a tuning series in a document: what each gained, where all curves of a comparison are of one series."""

from __future__ import annotations

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.settings import shown, shown_of_os
from benchhub.analysis.tuning import words
from benchhub.analysis.words import significant
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.tuning import answer, queries
from benchhub.reports.tuning.figures import figure
from benchhub.reports.tuning.series import Series, Step

TITLE = "What each step gained"
BELOW_THREE = "Effects are ratios of geometric means, with 95% intervals; below three repeats nothing is tested."


def series_of(comparison: Comparison) -> Series | None:
    """Return the tuning series that all curves are of; None where they are of none, or of several experiments."""
    experiments = {entry.experiment.pk for entry in comparison.entries}
    row = queries.series().filter(experiment__in=experiments).first() if len(experiments) == 1 else None
    return Series.load(row) if row else None


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
                nodes.paragraph(f"{picture['layout']['meta']['bars_text']} {BELOW_THREE}".strip(), "caption"),
                _table(series),
            ],
        )
    ]


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
    layers = step.row.step.environment
    public = {name for layer, name, value in layers if {**shown({name: value}), **shown_of_os({name: value})}}
    return [str(change) for change in step.changes if change.name in public]
