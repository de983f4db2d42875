"""Check report C: the gains of its steps compounded, and the memory that its settings stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from .check import Check, derived, judged, plain, quotient, rounded, written
from .document import Between, Document, Row, half_unit

LETTER = "C"
# Not printed: what a huge page is on IBM Z.
HUGE_PAGE_MB = 1


@dataclass(frozen=True, slots=True)
class Step:
    """One step of tuning: its gain in per cent as printed; 'almost' is read as a little less, 'about' as either way."""

    number: int
    change: str
    words: str
    gain_percent: Decimal
    is_almost: bool
    section: str
    oddity: str

    @property
    def factor(self) -> Fraction:
        return 1 + Fraction(self.gain_percent) / 100

    @property
    def lowest_factor(self) -> Fraction:
        return self.factor - half_unit(self.gain_percent) / 100

    @property
    def highest_factor(self) -> Fraction:
        return self.factor + (0 if self.is_almost else half_unit(self.gain_percent) / 100)

    @property
    def is_of_throughput(self) -> bool:
        return self.section.startswith("throughput")


def checks(document: Document) -> tuple[Check, ...]:
    return (_total_gain(document), *_other_steps(document), *_restore(document), *_memory(document))


def steps(document: Document) -> tuple[Step, ...]:
    """Return the report's steps in their order. Raises PublishedError."""
    return tuple(_step(row) for row in document.all("step"))


def compounded_percent(factors: Iterable[Fraction]) -> Fraction:
    """Return the gain of all together, in per cent, if each builds on those before."""
    product = Fraction(1)
    for factor in factors:
        product *= factor
    return (product - 1) * 100


def _step(row: Row) -> Step:
    return Step(
        number=row.integer("number"),
        change=row.text("change"),
        words=row.text("words"),
        gain_percent=row.number("gain_percent"),
        is_almost=row.text("qualifier") == "almost",
        section=row.text("section"),
        oddity=row.text("oddity"),
    )


def _total_gain(document: Document) -> Check:
    listed_steps, figure = steps(document), document.figure("aggregate")
    gains = _compounded(listed_steps)
    words = " x ".join(f"{plain(step.factor, 2)}" for step in listed_steps)
    room, exact = f"{plain(gains.low, 1)}% to {plain(gains.high, 1)}%", gains.middle
    return judged(
        figure,
        exact,
        agrees=rounded(exact, figure.places) == figure.value,
        is_consistent=figure.between.overlaps(gains),
        room=gains,
        why=(
            f"The listed gains compound to {plain(exact, 1)}%, {figure.printed} is printed; "
            f"'almost' and 'ca.' leave {room}."
        ),
        group="Gains",
        report=LETTER,
        steps=(f"{words} = {plain(1 + exact / 100, 4)}.", *_room(listed_steps, room)),
    )


def _compounded(listed_steps: Sequence[Step]) -> Between:
    """Return the gain of all steps together, in per cent, with what 'almost' and 'ca.' leave."""
    return Between(
        compounded_percent(step.factor for step in listed_steps),
        compounded_percent(step.lowest_factor for step in listed_steps),
        compounded_percent(step.highest_factor for step in listed_steps),
    )


def _factors(percent: Between) -> Between:
    return Between(*(1 + end / 100 for end in (percent.middle, percent.low, percent.high)))


def _other_steps(document: Document) -> Iterator[Check]:
    """Check what was tried beside the steps: whether the printed sum leaves room for it among them."""
    aggregate, listed_steps = document.figure("aggregate"), steps(document)
    factors = _factors(aggregate.between).over(_factors(_compounded(listed_steps)))
    left = Between(*((end - 1) * 100 for end in (factors.middle, factors.low, factors.high)))
    room = f"{plain(left.low, 1)}% to {plain(left.high, 1)}%"
    for name, is_of_sum in (("x86-tip", False), ("separate-disks-sandbox", False), ("separate-disks-large", True)):
        figure = document.figure(name)
        is_within = figure.between.overlaps(left)
        place = "lies within" if is_within else "lies outside"
        printed = f"'{figure.printed}' ({written(figure.between.low)}% to {written(figure.between.high)}%)"
        yield judged(
            figure,
            left.middle,
            agrees=not is_within and not is_of_sum,
            is_consistent=is_within and is_of_sum,
            subject=f"{figure.subject}: {'' if is_of_sum else 'not '}among the {aggregate.printed}",
            why=f"Beside the listed steps, {aggregate.printed} leaves {room} for another; {printed} {place}.",
            group="Beside the steps",
            report=LETTER,
            room=left,
        )


def _restore(document: Document) -> Iterator[Check]:
    """Check what the restore saves: its two times are printed, what follows from them is not."""
    before, after = document.figure("restore-before"), document.figure("restore-after")
    faster = before.between.over(after.between)
    share = after.between.over(before.between)
    saved = Between(*((1 - end) * 100 for end in (share.middle, share.high, share.low)))
    words = f"({before.value} - {after.value}) / {before.value} minutes"
    yield derived(document.row("derived", id="restore-saved"), saved, words, LETTER)
    words = f"{before.value} / {after.value} minutes"
    yield derived(document.row("derived", id="restore-faster"), faster, words, LETTER)


def _room(listed_steps: Sequence[Step], room: str) -> tuple[str, ...]:
    throughput_percent = compounded_percent(step.factor for step in listed_steps if step.is_of_throughput)
    sum_percent = sum(step.gain_percent for step in listed_steps)
    return (
        f"Reading 'almost' as up to half a per cent less and 'ca.' as half a per cent either way: {room}.",
        f"Without step 6, which stands among the response times: {plain(throughput_percent, 1)}%.",
        f"Added instead of compounded: {sum_percent}%.",
    )


def _memory(document: Document) -> Iterator[Check]:
    value = document.value
    memory, share = value("memory"), value("shared-buffers-share")
    yield _quotient(document, "shared-buffers", memory * share, f"{memory} GB x {share}")
    pages = Fraction(value("huge-pages")) * HUGE_PAGE_MB / 1024
    yield _quotient(document, "huge-pages-gb", pages, f"{value('huge-pages'):,} x {HUGE_PAGE_MB} MB / 1,024")
    for name in ("dirty-background", "dirty"):
        percent, count = value(f"{name}-percent"), value(f"{name}-bytes")
        yield _quotient(document, f"{name}-gb", Fraction(memory * percent) / 100, f"{percent}% of {memory} GB")
        yield _quotient(document, f"{name}-mb", Fraction(count) / 1024**2, f"{count:,} / 1,024 / 1,024")


def _quotient(document: Document, name: str, exact: Decimal | Fraction, words: str) -> Check:
    return quotient(document.figure(name), exact, words, group="Memory", report=LETTER)
