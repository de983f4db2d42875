"""Discounts are found in texts by their words, and other numbers stay."""

import pytest

from benchhub.analysis.snapshot.redaction import Redactor

REDACTOR = Redactor([], {"discount"})


@pytest.mark.parametrize(
    "text",
    [
        "37.5% off", "37.5 % off", "37,5% discount", "a discount of 37.5%", "Discount: 37.5 %", "rebate of EUR 37,500",
        "EUR 37,500 off", "$37,500 off list", "\u20ac 37.500 off", "37.5 per cent below list",
        "discounted by 37.5 percent", "_37.5% off_", "12% discount\n\ndiscount of 37.5%",
        "off by 37.5%", "price reduction of 37.5%", "37.5 pct rebate", "**37.5 %** off", "37.5%&#32;off",
        "\uff13\uff17.\uff15\uff05 off", "37\u200b.5% off", "discounts of 10% and 37.5%", "discount=37.5", "37.5%\noff",
        "a surcharge of 37.5%", "MzcuNSUgb2ZmIGFsbCBvZiBpdA==",
    ],
)  # fmt: skip
def test_a_discount_is_hidden_however_it_is_worded(text):
    left = REDACTOR.text(text)
    assert not {part for part in ("37.5", "37,5", "\uff13\uff17", "MzcuNSUg", "37\u200b") if part in left}
    assert Redactor([], {"host"}).text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "throughput fell by 12% at 8 clients", "18 is 12.5% less", "turned 2 off", "fsync=off, 5% more TPS",
        "95% interval", "no discount", "discounts of vendors", "synchronous_commit off", "1,120 TPS, off by far",
    ],
)  # fmt: skip
def test_other_numbers_stay(text):
    assert REDACTOR.text(text) == text


def test_what_stands_behind_a_discount_stays():
    assert REDACTOR.text("Discounts of 3 vendors") == "hidden vendors"
    assert REDACTOR.text("A 10% discount for 3 years") == "A hidden for 3 years"
