"""A run's metrics over time, grouped into figures with a table each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from benchhub.bench.models import Series
from benchhub.ui.facts import in_words

from . import figures

WARMUP = "warmup_"  # so a load generator's parser begins the name of the throughput in the warm-up


@dataclass(frozen=True, slots=True)
class SeriesGroup:
    """Metrics of one unit: a figure, and a table of its values by second."""

    figure_id: str
    unit: str
    metrics: tuple[str, ...]
    figure: figures.Figure
    rows: tuple[tuple[float | None, ...], ...]
    has_warmup: bool = False

    @property
    def title(self) -> str:
        metrics = ", ".join(self.metrics)
        unit = "" if self.unit == metrics else f", {self.unit}"
        return f"{metrics[:1].upper()}{metrics[1:]} over time{unit}"


def series_groups(rows: Sequence[Series]) -> list[SeriesGroup]:
    """Return one group per unit and grid of time; the rows come sorted by unit."""
    warmups = [series for series in rows if _is_warmup(series)]
    measured = sorted((series for series in rows if not _is_warmup(series)), key=_grid)
    grids = enumerate(groupby(measured, key=_grid), start=1)
    return [_with_warmup(_group(f"series-figure-{i}", unit, list(group)), warmups) for i, ((unit, *_), group) in grids]


def is_zero(series: Series) -> bool:
    """Tell whether a line along the axis is all there is to draw, as where nothing failed."""
    return not _is_warmup(series) and all(value == 0 for value in series.values)


def metric_words(series: Series) -> str:
    return in_words(figures.quantity_name(series.metric, series.unit))


def _is_warmup(series: Series) -> bool:
    return series.metric.startswith(WARMUP)


def _grid(series: Series) -> tuple[str, float, float, int]:
    return series.unit, series.step_s, series.start_epoch_s, len(series.values)


def _group(figure_id: str, unit: str, rows: Sequence[Series]) -> SeriesGroup:
    figure = figures.series_figure(rows)
    seconds = figure["data"][0]["x"]
    return SeriesGroup(
        figure_id=figure_id,
        unit=unit,
        metrics=tuple(metric_words(series) for series in rows),
        figure=figure,
        rows=tuple(zip(seconds, *(series.values for series in rows), strict=True)),
    )


def _with_warmup(group: SeriesGroup, warmups: Sequence[Series]) -> SeriesGroup:
    """Return the group with the throughput of the warm-up before its own, marked, at negative seconds."""
    matches = (series for series in warmups if group.metrics == (in_words(series.metric.removeprefix(WARMUP)),))
    warmup = next(matches, None)
    if warmup is None:
        return group
    rows = (*zip(figures.seconds_before(warmup), warmup.values, strict=True), *group.rows)
    return replace(group, figure=figures.with_warmup(group.figure, warmup), rows=rows, has_warmup=True)
