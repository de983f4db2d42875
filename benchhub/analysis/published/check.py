"""Check one published number against what follows from the others: the verdict, and sentences that explain it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from benchhub.analysis.pricing.money import rounded_quotient

from .document import Between, Figure, Row, places

Verdict = Literal["agrees", "consistent", "rounded up", "disagrees"]
# 'consistent': not what is printed, but within what its words and the rounding of its inputs leave.
VERDICTS: tuple[Verdict, ...] = ("agrees", "consistent", "rounded up", "disagrees")
# Decimals that are shown of a computed number: two at least, and two more than a price has.
FEWEST_PLACES = 2
MORE_PLACES = 2
# More than half of any printed decimal has.
MOST_PLACES = 40
DERIVED_GROUP = "Derived, not printed"
Number = Decimal | Fraction | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check of a number: `published` is as printed, `value` the same as a number; `exact` was
    computed, and is shown to `places`.

    `group` is the heading it stands under, `column` the column of a table whose checks make one finding together.
    `steps` lead to the number, each a sentence; `why` is the verdict in one. `printed` is the interval that the printed
    number leaves, `room` that of the computed one.
    """

    report: str
    section: str
    group: str
    subject: str
    published: str
    value: Decimal
    unit: str
    exact: Fraction
    places: int
    verdict: Verdict
    why: str
    steps: tuple[str, ...]
    printed: Between
    room: Between
    column: str = ""

    @property
    def computed(self) -> Decimal:
        return rounded(self.exact, self.places)

    @property
    def published_low(self) -> Decimal:
        """Return the lowest number that may have been printed as it is, to the last digit."""
        return written(self.printed.low)

    @property
    def published_high(self) -> Decimal:
        """Return the highest number that may have been printed as it is, to the last digit."""
        return written(self.printed.high)

    @property
    def computed_low(self) -> Decimal:
        return rounded(self.room.low, self.places)

    @property
    def computed_high(self) -> Decimal:
        return rounded(self.room.high, self.places)

    @property
    def difference(self) -> Decimal:
        """Return published less computed, from the exact fraction."""
        return rounded(Fraction(self.value) - self.exact, self.places)

    @property
    def survives(self) -> bool:
        return self.verdict in ("agrees", "consistent")


@dataclass(frozen=True, slots=True)
class Tally:
    agrees: int
    consistent: int
    rounded_up: int
    disagrees: int

    @property
    def total(self) -> int:
        return self.agrees + self.consistent + self.rounded_up + self.disagrees


def quotient(
    figure: Figure,
    exact: Number,
    words: str,
    *,
    group: str,
    report: str,
    steps: Sequence[str] = (),
    note: str = "",
    room: Between | None = None,
) -> Check:
    """Check whether a number that follows exactly from printed ones rounds to what is printed. `words` is its
    arithmetic, `room` what the rounding of those leaves.
    """
    value = Fraction(exact)
    verdict = _verdict(figure, value, room or Between.of(value))
    places = shown_places(value, figure.places)
    unit_text = f" {figure.unit}" if figure.unit else ""
    text = f"{words} = {plain(value, places)}{_conclusion(figure, value, verdict)}"
    return Check(
        report=report,
        section=figure.section,
        group=group,
        subject=figure.subject,
        published=figure.printed,
        value=figure.value,
        unit=figure.unit,
        exact=value,
        places=places,
        verdict=verdict,
        why=f"{text} {note}".strip(),
        steps=(*steps, f"{words} = {plain(value, places)}{unit_text}.", _rounding(figure, value)),
        printed=figure.between,
        room=room or Between.of(value),
    )


def judged(
    figure: Figure,
    exact: Number,
    *,
    agrees: bool,
    is_consistent: bool = False,
    why: str,
    group: str,
    report: str,
    steps: Sequence[str] = (),
    subject: str = "",
    column: str = "",
    printed: Between | None = None,
    room: Between | None = None,
) -> Check:
    """Check a number that is not the rounding of another: a bound, or what follows from rounded numbers.

    `printed` is what the printed number leaves, if that is not its rounding; `room` what the computed one leaves.
    """
    value = Fraction(exact)
    return Check(
        report=report,
        section=figure.section,
        group=group,
        subject=subject or figure.subject,
        published=figure.printed,
        value=figure.value,
        unit=figure.unit,
        exact=value,
        places=shown_places(value, figure.places),
        verdict="agrees" if agrees else "consistent" if is_consistent else "disagrees",
        why=why,
        steps=tuple(steps) or (why,),
        printed=printed or figure.between,
        room=room or Between.of(value),
        column=column,
    )


def derived(row: Row, between: Between, words: str, report: str) -> Check:
    """Check a figure that is not printed: the data holds it with its interval, and both are computed again."""
    exact_by_name = {"value": between.middle, "low": between.low, "high": between.high}
    agrees = all(rounded(exact, places(row.number(name))) == row.number(name) for name, exact in exact_by_name.items())
    room = f"{row.number('low'):,} to {row.number('high'):,}"
    room_text = "" if between.low == between.high else f" What is printed leaves {room}."
    value, unit = row.number("value"), row.text("unit")
    figure = Figure(row.place, row.text("what"), f"derived, {value:,}", value, unit, row.text("section"))
    why = f"{words} = {plain(between.middle, shown_places(between.middle, 0))} {unit}, which is not printed.{room_text}"
    printed = Between(Fraction(value), Fraction(row.number("low")), Fraction(row.number("high")))
    return judged(
        figure,
        between.middle,
        agrees=agrees,
        why=why,
        group=DERIVED_GROUP,
        report=report,
        printed=printed,
        room=between,
    )


def findings(checks: Iterable[Check]) -> tuple[str, ...]:
    """Return a sentence for each check that fails; the cells of one column of a table share one."""
    checks_by_group: dict[str, list[Check]] = {}
    count_by_column: dict[str, int] = {}
    for number, check in enumerate(checks):
        count_by_column[check.column] = count_by_column.get(check.column, 0) + 1
        if not check.survives:
            checks_by_group.setdefault(check.column or str(number), []).append(check)
    return tuple(
        _finding(checks_failed, count_by_column[checks_failed[0].column]) for checks_failed in checks_by_group.values()
    )


def tally(checks: Iterable[Check]) -> Tally:
    verdicts = [check.verdict for check in checks]
    return Tally(*(verdicts.count(verdict) for verdict in VERDICTS))


def where(section: str) -> str:
    """Name a section: 'section 8.1', but 'Figure 3' and 'Conclusion' as they are."""
    return f"section {section}" if section[:1].isdigit() else section


def rounded(exact: Number, to_places: int) -> Decimal:
    """Round half away from zero, once, from the exact fraction."""
    value = Fraction(exact)
    size = rounded_quotient(Decimal(abs(value.numerator)), Decimal(value.denominator), to_places, "nearest")
    return -size if value < 0 and size else size


def written(exact: Fraction) -> Decimal:
    """Write a fraction that ends as a decimal, with all its digits and no more."""
    return rounded(exact, next(places for places in range(MOST_PLACES) if (exact * 10**places).denominator == 1))


def plain(exact: Number, to_places: int) -> str:
    """Write a number for people: 1,234.50."""
    return f"{rounded(exact, to_places):,}"


def shown_places(exact: Fraction, printed_places: int) -> int:
    """Return how many decimals of a computed number are shown; fewer if it ends before."""
    most = FEWEST_PLACES if printed_places < FEWEST_PLACES else printed_places + MORE_PLACES
    return next((places for places in range(most) if (exact * 10**places).denominator == 1), most)


def _verdict(figure: Figure, exact: Fraction, room: Between) -> Verdict:
    published = figure.value
    if rounded(exact, places(published)) == published:
        return "agrees"
    has_room = not room.is_point or figure.known_to is not None
    if has_room and room.overlaps(figure.between):
        return "consistent"
    up = rounded_quotient(Decimal(exact.numerator), Decimal(exact.denominator), places(published), "up")
    return "rounded up" if up == published else "disagrees"


def _conclusion(figure: Figure, exact: Fraction, verdict: Verdict) -> str:
    if Fraction(figure.value) == exact:
        return ", as printed."
    nearest = plain(exact, figure.places)
    if verdict == "agrees":
        return f", and {nearest} when rounded, as printed."
    if verdict == "consistent":
        room = figure.between
        return f", within the {written(room.low):,} to {written(room.high):,} that {figure.printed} leaves."
    if verdict == "rounded up":
        return f": {nearest} to the nearest, so the printed {figure.printed} was rounded up."
    to_nearest = "" if nearest == plain(exact, shown_places(exact, figure.places)) else f": {nearest} to the nearest"
    return f"{to_nearest}, not {figure.printed}."


def _rounding(figure: Figure, exact: Fraction) -> str:
    """State both roundings, to the decimals that are printed."""
    up = rounded_quotient(Decimal(exact.numerator), Decimal(exact.denominator), figure.places, "up")
    nearest = rounded(exact, figure.places)
    if nearest == up == exact:
        return f"Printed: {figure.printed}. Nothing is rounded."
    return f"Printed: {figure.printed}. To as many decimals it is {nearest:,} to the nearest, {up:,} rounded up."


def _finding(checks: Sequence[Check], total: int) -> str:
    first = checks[0]
    if not first.column:
        return f"{first.subject} ({where(first.section)}): {first.why}"
    cells = ", ".join(f"{plain(check.exact, 1)} against {check.published}" for check in checks)
    number = f"all {total} cells" if len(checks) == total else f"{len(checks)} of {total} cells"
    return f"{first.column} ({where(first.section)}): in {number} TPS x latency is not the printed number: {cells}."
