from datetime import date
from decimal import Decimal

from benchhub.analysis.pricing.money import Amount
from benchhub.analysis.pricing.steps import step
from benchhub.analysis.words import count


def test_a_step_reads_as_a_sentence_with_its_citation():
    made = step(
        "sum", "{count} x {each} = {result}", Amount(Decimal(9000), "EUR"), "row 7", count=1500, each=Decimal("6.0")
    )
    assert str(made) == made.sentence == "1,500 x 6 = 9,000 EUR (row 7)."
    assert str(step("sum", "It is {result}", Decimal("0.50"))) == "It is 0.5."


def test_every_digit_that_says_something_is_in_the_sentence():
    price = Amount(Decimal("1234.5000"), "EUR")
    made = step(
        "sum",
        "On {day}, {share} of {price}: {result}",
        Decimal("123.45"),
        day=date(2026, 1, 1),
        share=Decimal("0.10"),
        price=price,
    )
    assert str(made) == "On 2026-01-01, 0.1 of 1,234.50 EUR: 123.45."


def test_one_is_singular():
    assert [count(n, "pack") for n in (0, 1, 2)] == ["0 packs", "1 pack", "2 packs"]
