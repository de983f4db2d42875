"""Word the effects of tuning steps: '+12% (8 to 17%)', 'no effect shown (-1 to +2%)', 'not tested: 2 repeats'."""

from __future__ import annotations

from collections.abc import Sequence

from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL
from benchhub.analysis.words import count, listing

from .effects import Effect

NOT_MEASURED = "no result yet"
NO_EFFECT = "no effect shown"
# An interval narrower than this, in per cent, is worth a decimal.
WIDEST_WITH_DECIMAL = 2.0


def effect_text(ratio: Ratio | None) -> str:
    """Word a ratio as a change in per cent and how sure it is."""
    if ratio is None:
        return NOT_MEASURED
    change = percent(ratio.value, decimals(ratio))
    if ratio.withheld:
        return f"{change}, not known how sure: {ratio.withheld}"
    if not ratio.is_tested:
        return f"{change}, {not_tested_text(ratio)}"
    if ratio.is_distinguishable:
        return f"{change} ({interval_text(ratio)})"
    by_chance = "; leaves out 0, but of several steps one does so by chance" if ratio.is_lost_to_many else ""
    return f"{NO_EFFECT} ({interval_text(ratio)}{by_chance})"


def not_tested_text(ratio: Ratio) -> str:
    fewest = min(ratio.n, ratio.baseline_n)
    lack = count(fewest, "repeat") if fewest < FEWEST_FOR_INTERVAL else "repeats without scatter"
    return f"not tested: {lack}"


def interval_text(ratio: Ratio) -> str:
    """Write the interval as changes: '8 to 17%', '-17 to -8%', '-1 to +2%'. Empty where there is none."""
    if ratio.bounds is None:
        return ""
    digits = decimals(ratio)
    low, high = (percent(bound, digits) for bound in ratio.bounds)
    if low.startswith("+") and high.startswith("+"):
        low, high = low[1:], high[1:]
    return f"{low.removesuffix('%')} to {high}"


def percent(value: float, digits: int = 0) -> str:
    """Write a ratio as a change in per cent, with its sign: +12%, -3%, and 0% for none."""
    text = f"{100 * (value - 1):+,.{digits}f}"
    return f"{text.lstrip('+-') if float(text.replace(',', '')) == 0 else text}%"


def decimals(ratio: Ratio) -> int:
    """Return how many decimals of a per cent are worth reading."""
    return 1 if ratio.bounds and 100 * (ratio.bounds[1] - ratio.bounds[0]) < WIDEST_WITH_DECIMAL else 0


def alias_text(effect: Effect, names: Sequence[str]) -> str:
    """Name the effects that the same runs cannot tell from this: 'A with B', and of opposite sign 'less A with B'."""
    texts = [
        ("" if alias.sign > 0 else "less ") + " with ".join(names[number - 1] for number in alias.factors)
        for alias in effect.aliases
    ]
    return listing(texts)


def interaction_text(ratio: Ratio | None) -> str:
    """Word an interaction: the two steps together against what their effects multiply to."""
    if ratio is None:
        return NOT_MEASURED
    if ratio.is_tested and not ratio.is_distinguishable:
        return f"no interaction shown ({interval_text(ratio)})"
    return f"together {effect_text(ratio)} on top of both effects"
