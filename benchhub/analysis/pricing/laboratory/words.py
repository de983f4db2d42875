"""Say which choice is the cheapest along an axis, and where the cheaper of two changes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from benchhub.analysis.pricing.certainty import SAME_RUNS
from benchhub.analysis.statistics.estimate import NOT_TESTED, WITHHELD
from benchhub.analysis.words import listing

from .axis import Axis
from .choices import Choice
from .flips import Flip, Stretch, Zone

MOST_NAMED = 3


def lead(axis: Axis, stretches: Sequence[Stretch]) -> str:
    """Say which choice is the cheapest, and from where on another is."""
    if not any(stretch.choices for stretch in stretches):
        return "Nothing has a price on this axis."
    first, *others = stretches
    if not others:
        span = f"From {axis.number_words(axis.low)} to {axis.words(axis.high)}"
        return f"{span} {_cheapest(first)} throughout, as measured."
    turns = [f"from {axis.words(stretch.low)} on {_cheapest(stretch)}" for stretch in others]
    return f"As measured, {_cheapest(first)} below {axis.words(others[0].low)}; {'; '.join(turns)}."


def _cheapest(stretch: Stretch) -> str:
    if not stretch.choices:
        return "nothing can be bought"
    names = _names(stretch.choices)
    return f"{names} {'is' if len(stretch.choices) == 1 else 'cost the same and are'} the cheapest"


def _names(choices: Sequence[Choice]) -> str:
    names = [choice.name for choice in choices]
    more = len(names) - MOST_NAMED
    return listing([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def grouped(pair_flips: Sequence[Flip]) -> list[list[Flip]]:
    """Put together flips at one value of the same two licences, of one system each, or of two systems, under one each.

    Those of one system come first, as nothing is unsure about them, then those of one licence, each by rising value.
    """
    groups: dict[tuple[int, Decimal, object], list[Flip]] = {}
    for flip in pair_flips:
        licences, systems = (flip.first.licence, flip.other.licence), (flip.first.system, flip.other.system)
        key: tuple[int, Decimal, object] = (2, flip.value, (licences, systems))
        if flip.is_of_one_system:
            key = (0, flip.value, licences)
        elif flip.is_of_one_licence:
            key = (1, flip.value, (systems, flip.after, flip.is_end))
        groups.setdefault(key, []).append(flip)
    return [groups[key] for key in sorted(groups, key=lambda key: key[:2])]


def sentence(axis: Axis, group: Sequence[Flip]) -> str:
    """Say where two choices change places, and how sure that is."""
    return " ".join(filter(None, (turn(axis, group), doubt(axis, group[0]))))


def turn(axis: Axis, group: Sequence[Flip]) -> str:
    """Say where two choices change places."""
    flip = group[0]
    if flip.is_of_one_system:
        systems = listing(flip.first.system_label for flip in group)
        return _turn(axis, flip, flip.first.licence_label, flip.other.licence_label, f" for {systems}")
    if flip.is_of_one_licence:
        licences = listing(flip.first.licence_label for flip in group)
        return _turn(axis, flip, flip.first.system_label, flip.other.system_label, f", under {licences}")
    return _turn(axis, flip, flip.first.name, flip.other.name, "")


def _turn(axis: Axis, flip: Flip, first: str, other: str, where: str) -> str:
    value = axis.words(flip.value)
    if flip.is_end:
        return f"From {value} on only {other} can be bought; {first} was the cheaper before{where}."
    if axis.is_whole:
        same = f"; at {value} they cost the same" if flip.after != flip.value else ""
        return f"From {axis.words(flip.after)} on {other} is cheaper than {first}{where}{same}."
    return f"Break-even at {value}: below it {first} is the cheaper, above it {other}{where}."


def doubt(axis: Axis, flip: Flip) -> str:
    """Say how far the runs leave open where a flip lies; empty where they leave nothing open."""
    zone = flip.zone
    if zone.kind == SAME_RUNS:
        return ""
    if zone.kind == NOT_TESTED:
        return "Not tested: that takes three repeats of each."
    if zone.kind == WITHHELD:
        return "Nobody knows how sure that is: the systems ran one after the other."
    return _zone_text(axis, zone)


def _zone_text(axis: Axis, zone: Zone) -> str:
    low, high = zone_ends(axis, zone)
    if low is not None and high is not None:
        if low > high:
            return ""
        where = f"From {axis.number_words(low)} to {axis.words(high)}" if low < high else f"At {axis.words(low)}"
    elif low is None and high is None:
        return "Nowhere on this axis do the runs tell them apart."
    else:
        where = f"Up to {axis.words(high)}" if high is not None else f"From {axis.words(low or axis.low)} on"
    return f"{where} the runs do not tell them apart."


def zone_ends(axis: Axis, zone: Zone) -> tuple[Decimal | None, Decimal | None]:
    """Return the first and the last value that is not sure; the first is above the last where there is none."""
    step = axis.step if axis.is_whole else Decimal(0)
    return None if zone.low is None else zone.low + step, None if zone.high is None else zone.high - step
