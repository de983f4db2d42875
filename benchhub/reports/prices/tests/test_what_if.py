"""The questions below the table, each worked out by hand."""

import csv
import io
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from django.http import QueryDict

from benchhub.bench.models import System
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.prices import pictures, what_if
from benchhub.reports.prices.queries import PriceBook
from benchhub.reports.prices.table import table
from benchhub.reports.prices.terms import terms
from benchhub.reports.prices.testing import BOX, PER_CORE, PER_SOCKET, TODAY, drawn, listed, price_book

FREE = LicenceModel(pk=6, name="Hardware only", metric="none")


def answers(query="", curves=None, book=None):
    parameters = QueryDict(query)
    curves = curves or [drawn(1000.0, 1010.0)]
    price_table = table(curves, book or price_book(), terms(parameters, TODAY))
    keys = [f"1-{number}" for number in range(len(curves))]
    subject = what_if.subject(parameters, price_table, keys)
    return {panel.name: panel for panel in what_if.panels(price_table, subject)}, price_table, subject


def values(panel):
    return [row.values for row in panel.rows]


def test_the_break_even_of_socket_and_core_lies_where_their_costs_meet():
    panels, _, _ = answers()
    panel = panels["break-even"]
    # 2 sockets over 3 years: 3 x 2 x 4,200 = 25,200 at any count; 3 x 2 x 1,800 = 10,800 for each core of a socket.
    assert values(panel)[0] == (1, Decimal("25200.00"), Decimal("10800.00"), "Per core")
    assert values(panel)[2] == (3, Decimal("25200.00"), Decimal("32400.00"), "Per socket")
    assert panel.sentences[0] == "Box has 2 x 10 cores: over 3 years, Per socket is the cheaper."
    assert "With 1 core per socket Per core is the cheaper. From 3 on Per socket is the cheaper." in panel.sentences[1]
    assert all(row.steps for row in panel.rows)
    assert any("3 years x 6 x 1,800 EUR = 32,400 EUR" in str(step) for step in panel.rows[2].steps)
    assert len(panel.rows) == 32


def test_the_break_even_counts_the_machine_of_a_pooler_as_it_is():
    small = Hardware(pk=4, name="Small box", sockets=1, cores_per_socket=4)
    pooled = replace(drawn(1000.0), system=System(label="pooled", hardware=BOX, pooler_hardware=small))
    book = price_book()
    book = replace(book, of_hardware={**book.of_hardware, 4: (listed("700"),)})
    panel = answers(curves=[pooled], book=book)[0]["break-even"]
    # 3 x 3 x 4,200 = 37,800 for three sockets; 3 x (2 + 4) x 1,800 = 32,400 for 1 core a socket, 43,200 for 2
    assert values(panel)[:2] == [
        (1, Decimal("37800.00"), Decimal("32400.00"), "Per core"),
        (2, Decimal("37800.00"), Decimal("43200.00"), "Per socket"),
    ]
    assert panel.sentences[-1] == "The pooler's machine, Small box, keeps its 4 cores, unless a licence exempts it."


def test_one_licence_that_costs_something_has_no_break_even():
    book = PriceBook((FREE, PER_SOCKET), {3: (listed("5000"),)}, {6: (), 7: (listed("4200"),)})
    panels, _, _ = answers(book=book)
    assert panels["break-even"].figure is None
    assert "needs two licence models" in panels["break-even"].refusal


def test_the_pair_of_the_break_even_is_in_the_address_and_never_twice_the_same():
    _, _, subject = answers("one=8&other=7")
    assert subject.pair == (PER_CORE, PER_SOCKET)
    _, _, subject = answers("one=8&other=8")
    assert subject.pair == (PER_CORE, PER_SOCKET)
    _, _, subject = answers("one=x&other=99")
    assert subject.pair == (PER_SOCKET, PER_CORE)


def test_sensitivity_prices_the_order_again_with_one_setting_changed():
    panels, _, _ = answers("drawn=7", curves=[drawn(1000.0)])
    panel = panels["sensitivity"]
    # term: 5,000 + 1 x 8,400 and + 5 x 8,400, over 1,000 TPS; discount: 30,200 and 75% of it
    assert values(panel) == [
        ("Term, 1 to 5 years", Decimal("13.40"), Decimal("47.00"), Decimal("33.60")),
        ("Discount on everything, 0 to 25%", Decimal("30.20"), Decimal("22.65"), Decimal("7.55")),
    ]
    assert "13.40 to 47.00 EUR per TPS" in panel.sentences[0]
    term = [str(step) for step in panel.rows[0].steps]
    assert term[0] == "Term, 1 year, and all else as in the present price."
    assert any("1 year x 2 x 4,200 EUR = 8,400 EUR" in sentence for sentence in term)
    assert any("42,000 EUR" in sentence for sentence in term[term.index(next(s for s in term if "5 years" in s)) :])
    assert not any("Hardware:" in sentence for sentence in term)  # that stands with the present price


def test_support_moves_a_perpetual_licence_alone():
    perpetual = LicenceModel(
        pk=9, name="For good", metric="socket", rules={"payment": "perpetual", "support_percent": "20"}
    )
    book = PriceBook((perpetual,), {3: (listed("5000"),)}, {9: (listed("1000"),)})
    panels, _, _ = answers(book=book, curves=[drawn(1000.0)])
    row = next(row for row in values(panels["sensitivity"]) if row[0].startswith("Support"))
    assert row[1:3] == (Decimal("7.90"), Decimal("8.50"))  # 5,000 + 2,000 + 3 x 15% (25%) of 2,000


def test_standbys_add_their_hardware_and_their_licence():
    panels, _, _ = answers("drawn=7&term=1", curves=[drawn(1000.0)])
    assert values(panels["standbys"])[:2] == [
        (0, Decimal("5000.00"), Decimal("8400.00"), Decimal("0.00"), Decimal("13400.00"), Decimal("13.40")),
        (1, Decimal("10000.00"), Decimal("16800.00"), Decimal("0.00"), Decimal("26800.00"), Decimal("26.80")),
    ]
    assert panels["standbys"].sentences[0].startswith("The first standby adds 13,400 EUR")
    assert "is paid for it as for the primary" in panels["standbys"].sentences[0]


def test_the_frontier_keeps_what_no_other_choice_beats():
    large = Hardware(pk=4, name="Large", sockets=2, cores_per_socket=20)
    book = PriceBook(
        (FREE, PER_SOCKET),
        {3: (listed("5000"),), 4: (listed("9000"),)},
        {6: (), 7: (listed("4200"),)},
    )
    curves = [drawn(1000.0, 1001.0, label="small"), drawn(1500.0, 1501.0, label="large", hardware=large, series=1)]
    panels, _, _ = answers(book=book, curves=curves)
    choices = [row[:2] for row in values(panels["pareto"]) if row[4] == "yes"]
    assert choices == [("small", "Hardware only"), ("large", "Hardware only")]
    assert panels["pareto"].sentences[0].startswith("2 of 4 choices are on the frontier")
    symbols = panels["pareto"].figure["data"][2]["marker"]["symbol"]
    assert symbols == ["square", "square-open"]


def test_unlike_currencies_are_never_on_one_axis():
    abroad = Hardware(pk=4, name="Abroad", sockets=1, cores_per_socket=4)
    book = PriceBook((FREE,), {3: (listed("5000"),), 4: (listed("6000", "USD"),)}, {6: ()})
    curves = [drawn(1000.0), drawn(1000.0, hardware=abroad, series=1)]
    panels, price_table, subject = answers(book=book, curves=curves)
    for panel in (
        panels["pareto"],
        pictures.bars(price_table),
        pictures.split(price_table),
        pictures.against_clients(price_table, subject.model),
    ):
        assert panel.figure is None
        assert panel.rows == ()
        assert "Amounts in EUR and USD are never on one axis" in panel.refusal


def test_the_split_adds_up_to_the_total_and_leaves_out_a_kind_that_nothing_is_of():
    _, price_table, _ = answers("term=1", curves=[drawn(1000.0)])
    panel = pictures.split(price_table)
    assert values(panel)[0][2:] == (Decimal("5000.00"), Decimal("8400.00"), Decimal("0.00"), Decimal("13400.00"))
    assert [trace["name"] for trace in panel.figure["data"]] == ["hardware", "licence"]
    patterns = [trace["marker"]["pattern"]["shape"] for trace in panel.figure["data"]]
    assert len(set(patterns)) == 2  # nothing hangs on colour alone


def test_bars_stand_by_price_with_the_range_that_their_table_and_file_say():
    _, price_table, _ = answers("term=1&licence=7", curves=[drawn(1000.0), drawn(990.0, 1010.0, label="two", series=1)])
    panel = pictures.bars(price_table)
    price = Decimal("13.40")  # 13,400 / 1,000; 13,400 / 1,010 = 13.267, / 990 = 13.535
    assert sorted(values(panel)) == [
        ("PostgreSQL 18", "Per socket", price, None, None, "one run", 1),
        ("two", "Per socket", price, Decimal("13.27"), Decimal("13.54"), "range of repeats", 2),
    ]
    once, twice, ranges = sorted(panel.figure["data"], key=lambda trace: trace["meta"]["series"])
    assert once["x"] == twice["x"] == [13.4]
    assert (ranges["x"], set(ranges["y"])) == ([13.27, 13.54, None], set(twice["y"]))
    assert "error_x" not in once and "error_x" not in twice
    assert panel.captions[-1] == "A dotted bar is the range of 2 repeats; a single run has no bar."
    assert panel.figure["layout"]["yaxis"]["categoryarray"] == [*once["y"], *twice["y"]]
    assert "two,Per socket,13.40,13.27,13.54,range of repeats,2" in panel.csv()


def test_the_figure_against_clients_has_the_prices_of_its_table_and_the_file_the_same_digits():
    _, price_table, _ = answers("term=1&drawn=7", curves=[drawn(990.0, 1010.0)])
    panel = pictures.against_clients(price_table, PER_SOCKET)
    assert values(panel) == [
        # 13,400 / (990 x 1,010) ** 0.5 = 13.4007, / 1,010 = 13.267, / 990 = 13.535
        ("PostgreSQL 18", 8, Decimal("13.40"), Decimal("13.27"), Decimal("13.54"), "range of repeats", 2)
    ]
    assert panel.figure["data"][0]["y"] == pytest.approx([13.40067])
    row = next(csv.DictReader(io.StringIO(panel.csv())))
    assert (row["Price, EUR per TPS"], row["From"], row["To"]) == ("13.40", "13.27", "13.54")
    assert "Price: 13,400 EUR / 999.9 TPS" in row["derivation"]


def test_without_any_price_there_is_no_question():
    book = PriceBook((PER_SOCKET,), {3: ()}, {7: ()})
    parameters = QueryDict("")
    price_table = table([drawn(1000.0)], book, terms(parameters, date(2026, 6, 30)))
    assert what_if.subject(parameters, price_table, ["1-0"]) is None


def test_an_exempt_standby_adds_its_hardware_alone():
    exempting = LicenceModel(pk=9, name="Exempting", metric="socket", rules={"exempt_roles": ["standby"]})
    book = PriceBook((exempting,), {3: (listed("5000"),)}, {9: (listed("4200"),)})
    panels, _, _ = answers("term=1", book=book, curves=[drawn(1000.0)])
    assert [row[4] for row in values(panels["standbys"])] == [13_400, 18_400, 23_400, 28_400]
    assert panels["standbys"].sentences[0].endswith("and Exempting exempts a standby.")
    assert any(step.kind == "exempt" for step in panels["standbys"].rows[1].steps)


def test_standbys_of_a_licence_for_one_server_are_refused_with_the_reason():
    single = LicenceModel(pk=9, name="Single", metric="server", rules={"max_servers": 1})
    book = PriceBook((single,), {3: (listed("5000"),)}, {9: (listed("100"),)})
    panels, _, _ = answers(book=book)
    assert panels["standbys"].figure is None
    assert "it is for at most 1 server, and there are 2." in panels["standbys"].refusal
