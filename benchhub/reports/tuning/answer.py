"""The answer of a tuning series in sentences: the best configuration first, then what readers should know of it."""

from __future__ import annotations

from collections.abc import Iterator

from benchhub.analysis.tuning import treatments, words
from benchhub.analysis.words import count, listing
from benchhub.reports.comparison.answers.answer import Tile

from .series import Series, Treatment

LOST = "a crash may lose what was committed"
MOST_NAMED = 4


def verdict(series: Series) -> str:
    """Say the best configuration, as a heading."""
    best = series.best
    if best is None or len(series.curves) < 2:
        return "Nothing to compare yet: no step has a result."
    if best.place == 0:
        return f"The baseline is the fastest as measured: no {_step(series)} is shown to raise throughput."
    if best.ratio and not best.ratio.is_tested:
        change = words.percent(best.ratio.value, words.decimals(best.ratio))
        why = best.ratio.withheld or words.not_tested_text(best.ratio)
        return f"Fastest as measured: {place_text(series, best)}, {change} over the baseline; {why}."
    if best.ratio and not best.ratio.is_distinguishable:
        fastest = f"{place_text(series, best)}, the fastest, has {best.text}"
        return f"No {_step(series)} is shown to raise throughput: {fastest}."
    return f"Best: {place_text(series, best)}, {best.text} over the baseline."


def place_text(series: Series, treatment: Treatment) -> str:
    """Name a treatment in a sentence: 'steps 1 to 4', 'step 2 (wal)', 'memory + wal'."""
    numbers = treatment.row.step_numbers
    if not numbers:
        return "the baseline"
    if series.kind == treatments.FACTORIAL:
        return treatment.label
    name = series.names[numbers[-1] - 1]
    return f"steps 1 to {numbers[-1]}" if len(numbers) > 1 else f"step {numbers[0]} ({name})"


def _step(series: Series) -> str:
    """Name what may be best: a less durable step beside it may well have raised throughput."""
    return "step as durable as the baseline" if any(row.relaxed for row in series.treatments) else "step"


def sentences(series: Series) -> list[str]:
    return [*_total(series), *_rivals(series), *_less_durable(series), *_without_effect(series), *_luck(series)]


def tiles(series: Series) -> Iterator[Tile]:
    """Yield the figures of the best configuration: throughput, change and price."""
    best, baseline = series.best, series.treatments[0]
    if best is None or best.measured is None:
        return
    name, where = place_text(series, best), f"at {listing(map(str, series.effects.levels))} clients"
    before = (f"baseline {baseline.throughput_text}",) if baseline.measured and best.place else ()
    yield Tile("Throughput", best.throughput_text, best.unit, (f"{name}, {where}", *before))
    if best.ratio:
        interval = words.interval_text(best.ratio)
        note = f"95% interval {interval}" if interval else words.not_tested_text(best.ratio)
        yield Tile("Over the baseline", words.percent(best.ratio.value, words.decimals(best.ratio)), "", (name, note))
    for price, before_price in list(zip(best.prices, baseline.prices, strict=True))[:1]:
        if price:
            notes = (f"baseline {before_price}",) if before_price and best.place else ()
            yield Tile(f"Price per {best.unit}", f"{price.amount:,}", price.currency, (name, *notes, price.licence))


def _total(series: Series) -> Iterator[str]:
    total, last = series.effects.total, len(series.steps)
    if total and last > 1 and series.best and series.best.place != last and not series.treatments[last].relaxed:
        yield f"All {last} steps together: {words.effect_text(total)}."


def _rivals(series: Series) -> Iterator[str]:
    if series.rivals and series.best and series.best.place:
        yield f"Not told apart from it: {_named([place_text(series, row) for row in series.rivals])}."


def _named(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return listing([*names[:MOST_NAMED], *([count(more, "other")] if more > 0 else [])])


def _less_durable(series: Series) -> Iterator[str]:
    """Say what is faster than the best because its commits are less durable, and is therefore no candidate."""
    best = series.best
    faster = [row for row in series.treatments if row.relaxed and row.measured]
    faster = [row for row in faster if best and best.measured and row.measured and row.measured.log > best.measured.log]
    if faster:
        top = max(faster, key=lambda row: row.measured.log if row.measured else 0.0)
        yield (
            f"{place_text(series, top).capitalize()}: {top.text}, but with {top.relaxed_text}, so that {LOST}. "
            "It is no candidate for the best."
        )


def _without_effect(series: Series) -> Iterator[str]:
    idle = [step for step in series.steps if step.effect.ratio and step.effect.ratio.is_tested]
    names = [f"{step.number} ({step.name})" for step in idle if not step.effect.ratio.is_distinguishable]  # type: ignore[union-attr]  # filtered above
    if names:
        yield f"No effect shown of {'step' if len(names) == 1 else 'steps'} {listing(names)}."


def _luck(series: Series) -> Iterator[str]:
    """Remind that the best of several was partly lucky, where it is the choice of many."""
    if series.kind == treatments.FACTORIAL and series.best and series.best.place:
        yield (
            f"The best of {len(series.treatments)} was partly lucky: the effects below rest on all runs. "
            "Plan it again to confirm it."
        )
