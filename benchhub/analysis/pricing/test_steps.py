from datetime import date
from decimal import Decimal

from benchhub.analysis.pricing.money import Amount
from benchhub.analysis.pricing.steps import counted, step


def test_a_step_reads_as_a_sentence_with_its_citation():
    made = step(
        "sum", "{count} x {each} = {result}", Amount(Decimal(9000), "EUR"), "row 7", count=1500, each=Decimal("6.0")
    )
    assert str(made) == made.sentence == "1,500 x 6 = 9,000 EUR (row 7)."
    assert str(step("sum", "It is {result}", Decimal("0.50"))) == "It is 0.5."


def test_a_step_as_plain_values_keeps_every_digit():
    made = step("sum", "{day}", Amount(Decimal("1234.5000"), "EUR"), day=date(2026, 1, 1), share=Decimal("0.10"))
    assert made.to_mapping() == {
        "kind": "sum",
        "sentence": "2026-01-01.",
        "operands": {"day": "2026-01-01", "share": "0.10"},
        "result": "1234.5000 EUR",
        "citation": "",
    }


def test_one_is_singular():
    assert [counted(n, "pack", "packs") for n in (0, 1, 2)] == ["0 packs", "1 pack", "2 packs"]
