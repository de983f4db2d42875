"""The price laboratory as a page, as files, and beside the comparison that it is of."""

from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testing
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.laboratory import tables
from benchhub.reports.laboratory.settings import Settings
from benchhub.reports.laboratory.setup import Setup
from benchhub.reports.testing import both, key, list_price, rows_of, variant

pytestmark = pytest.mark.django_db
LABORATORY = "/compare/laboratory/"


def query(experiment, systems, **parameters):
    curves = [("curve", key(experiment, system)) for system in systems]
    return urlencode([*curves, *((name.rstrip("_"), value) for name, value in parameters.items())])


def address(experiment, systems, **parameters):
    return f"{LABORATORY}?{query(experiment, systems, **parameters)}"


def setup(experiment, systems, **parameters):
    parameters = QueryDict(query(experiment, systems, **parameters))
    return Setup(Comparison.load(State.read(parameters)), Settings.read(parameters))


def test_the_cheapest_is_said_first_and_then_the_break_even_by_licence_price(reader, repeated, systems, prices):
    page = reader.get(address(repeated, systems, priced=prices["core"].pk))
    # 2 sockets at 4,200 EUR are 20 cores at 420 EUR, for both systems on the same box
    assertContains(
        page, "Break-even at 420 EUR per physical core and year: below it Per core is the cheaper, above it "
    )
    assertContains(page, "Per socket for PostgreSQL 16 and PostgreSQL 18.")
    text = page.content.decode()
    answer = text.index("With Per core at 1,800 EUR per physical core and year")
    assert answer < text.index("Break-even at 420 EUR") < text.index("figure-laboratory")
    assert "handle is" not in text


def test_two_systems_flip_where_their_prices_meet_and_the_runs_leave_a_zone(repeated, systems, prices):
    room = setup(repeated, systems, priced=prices["core"].pk, licence=prices["core"].pk)
    assert room.flips == []  # one licence alone: the faster system stays the cheaper
    room = setup(repeated, systems, priced=prices["core"].pk)
    across = [flip for flip in room.flips if not flip.is_of_one_system and "Hardware" not in flip.other.name]
    assert across
    assert all(flip.zone.kind == "tested" and flip.zone.low < flip.value < flip.zone.high for flip in across)


def test_a_price_where_the_handles_are_is_that_of_the_comparison_to_the_cent(reader, repeated, systems, prices):
    every_terms = (
        {}, {"term": 5}, {"discount": "12.5"}, {"utilisation": 80, "rounding": "up"}, {"load": 32, "standbys": 1},
        {"term": 1, "discount": 30, "support": 10},
    )  # fmt: skip
    for terms in every_terms:
        compared = rows_of(reader.get(both(repeated, systems, csv="prices", **terms)))
        moved = rows_of(reader.get(address(repeated, systems, csv="handles", **terms)))
        expected = {(row["curve"], row["licence"]): row for row in compared}
        assert len(moved) == len(expected) == 6
        for row in moved:
            other = expected[row["System"], row["Licence"]]
            assert row["Price, EUR per TPS"] == other["price"], terms
            assert row["Per million transactions, EUR"] == other["per_million"], terms
            assert (row["From"], row["To"]) == (other["price_low"], other["price_high"])


def test_every_axis_goes_through_the_comparisons_price_where_its_handle_is(repeated, systems, prices):
    for along in ("licence-price", "licence-discount", "discount", "cores", "term", "throughput", "utilisation"):
        room = setup(repeated, systems, along=along, priced=prices["core"].pk, discount=10, term=2, utilisation=70)
        assert room.handle.name == along
        assert room.handle.value in room.laboratory.values
        for subject in room.drawn:
            cell = next(
                cell
                for entry, row in zip(room.comparison.entries, room.comparison.prices.rows, strict=True)
                for cell in row.cells
                if (entry.key, str(cell.model.pk)) == (subject.choice.system, subject.choice.licence)
            )
            price = room.laboratory.price(subject.choice, room.handle.value)
            if along == "utilisation":
                assert round(float(price), 4) == pytest.approx(float(cell.per_million), abs=0.01)
            else:
                assert price.numerator * cell.quote.throughput.value == cell.quote.total * price.denominator
            assert room.cells[subject.choice.system, subject.choice.licence].price == cell.price


def test_a_moved_handle_moves_its_licence_alone_and_says_that_it_was_set_by_hand(reader, repeated, systems, prices):
    page = reader.get(address(repeated, systems, priced=prices["core"].pk, price=420))
    rows = rows_of(reader.get(address(repeated, systems, priced=prices["core"].pk, price=420, csv="handles")))
    amounts = {(row["System"], row["Licence"]): row["Total, EUR"] for row in rows}
    assert amounts["PostgreSQL 18", "Per core"] == amounts["PostgreSQL 18", "Per socket"] == "30200.00"
    assertContains(page, "set in the price laboratory")
    assertContains(page, "as usual 1800")
    assertContains(page, "Undo all changes")
    assertNotContains(reader.get(address(repeated, systems)), "Undo all changes")


def test_cores_are_said_as_they_are_counted(reader, repeated, systems, prices):
    page = reader.get(address(repeated, systems, along="cores"))
    assertContains(page, "From 3 cores per socket on Per socket is cheaper than Per core for PostgreSQL 16 and ")


def test_systems_that_flip_alike_under_each_licence_are_said_once(reader, repeated, systems, prices):
    # 16 costs as much as 18 once 18 is as fast, whatever the licence
    page = reader.get(address(repeated, systems, along="throughput", system=key(repeated, systems[1])))
    sentence = (
        "below it PostgreSQL 16 is the cheaper, above it PostgreSQL 18, under Hardware only, Per socket and Per core"
    )
    assertContains(page, f"TPS of PostgreSQL 18: {sentence}. From ")
    assertContains(page, "the runs do not tell them apart.")


def test_what_is_not_tested_of_any_flip_is_said_once(reader, experiment, systems, prices):
    page = reader.get(address(experiment, systems, priced=prices["core"].pk))
    assertContains(page, "Between two systems:</b> Not tested: that takes three repeats of each.")
    sentences = page.content.decode().split("figure-laboratory")[0]
    assert sentences.count("Not tested") == 1


def test_the_lowest_price_where_the_handles_are_is_said_as_the_comparison_says_it(repeated, systems, prices):
    room = setup(repeated, systems)
    assert room.table.lead == room.comparison.prices.lead != ""
    moved = setup(repeated, systems, priced=prices["core"].pk, price=0, licence=prices["core"].pk)
    assert moved.table.lead.startswith("The cheapest is PostgreSQL 18 under Per core, 4.46")


def test_where_nothing_can_flip_the_page_says_why(reader, repeated, systems, prices):
    for along, reason in (("discount", "It lowers all prices alike."), ("utilisation", "It divides all prices alike.")):
        page = reader.get(address(repeated, systems, along=along))
        assertContains(page, f"No two of these choices change places on this axis. {reason}")


def test_a_range_of_the_readers_own_is_kept_and_a_wrong_one_gets_a_sentence(reader, repeated, systems, prices):
    room = setup(repeated, systems, priced=prices["core"].pk, from_=400, to=500)
    assert (room.axis.low, room.axis.high) == (400, 500)
    assert [flip.value for flip in room.flips if flip.is_of_one_system] == [420, 420]
    for odd in ({"from_": "x"}, {"along": "sideways"}, {"price": -1}, {"cores": "2.5"}, {"throughput": 0}):
        page = reader.get(address(repeated, systems, **odd))
        assert page.status_code == 200
        assertContains(page, "Until then the usual one is used.", count=1)
        assertContains(page, "figure-laboratory")
    turned = setup(repeated, systems, from_=500, to=400)
    assert turned.axis.low < turned.axis.high
    assertContains(reader.get(address(repeated, systems, from_=500, to=400)), "Let the axis end above its start.")
    beyond = reader.get(address(repeated, systems, from_=400, to=500))
    assertContains(beyond, "The dotted line, at 1,800 EUR per physical core and year, lies beyond this axis.")
    assertNotContains(reader.get(address(repeated, systems)), "lies beyond this axis")


def test_where_nothing_flips_near_by_the_axis_goes_farther(repeated, systems, prices):
    # a socket at 36,000 EUR costs what 20 cores at 1,800 EUR do; it is listed at 4,200 EUR
    room = setup(repeated, systems, priced=prices["socket"].pk, licence=prices["core"].pk)
    assert room.axis.high < 36_000
    parameters = QueryDict(query(repeated, systems, priced=prices["socket"].pk), mutable=True)
    parameters.setlist("licence", [str(prices["core"].pk), str(prices["socket"].pk)])
    room = Setup(Comparison.load(State.read(parameters)), Settings.read(parameters))
    assert room.axis.high >= 36_000
    assert Decimal(18_000) in [flip.value for flip in room.flips]


def test_what_is_not_to_be_had_as_the_machine_is_joins_where_cores_allow_it(reader, repeated, systems, prices):
    small = LicenceModel.objects.create(name="Small", metric="core", rules={"max_cores": 8})
    list_price("10", licence_model=small)
    room = setup(repeated, systems, along="cores")
    ends = [flip for flip in room.flips if flip.is_end]
    assert {flip.first.licence_label for flip in ends} == {"Small"}
    assert {int(flip.value) for flip in ends} == {5}
    page = reader.get(address(repeated, systems, along="cores"))
    assertContains(page, "no price")
    assertContains(page, "at most 8 physical cores")


def test_of_many_choices_the_cheapest_are_drawn_and_all_are_priced(reader, repeated, systems, prices):
    for number in range(4):
        list_price(str(2000 + number), licence_model=LicenceModel.objects.create(name=f"L{number}", metric="core"))
    room = setup(repeated, systems)
    assert (len(room.subjects), len(room.drawn)) == (14, 12)
    dearest = {subject.choice.name for subject, _ in room.ranked[12:]}
    assert dearest.isdisjoint(subject.choice.name for subject in room.drawn)
    page = reader.get(address(repeated, systems))
    assertContains(page, "Drawn are the cheapest 12; 2 more stand in this table only.")
    assert len(rows_of(reader.get(address(repeated, systems, csv="handles")))) == 14


def test_a_missing_price_leaves_its_choices_out_with_the_reason(reader, repeated, systems, prices):
    LicenceModel.objects.create(name="Unpriced", metric="core")
    page = reader.get(address(repeated, systems))
    assertContains(page, "No price: PostgreSQL 16 under Unpriced: There is no list price for the licence")
    rows = rows_of(reader.get(address(repeated, systems, csv="handles")))
    assert not any(row["Licence"] == "Unpriced" for row in rows)


def test_unlike_currencies_and_curves_without_prices_are_refused(reader, repeated, systems, hardware):
    assertContains(reader.get(address(repeated, systems)), "no curve of this comparison has a price. Nothing is drawn.")
    list_price("5000", hardware=hardware)
    dollar = LicenceModel.objects.create(name="Dollar", metric="core")
    list_price("100", "USD", licence_model=dollar)
    LicenceModel.objects.create(name="Free", metric="none")
    page = reader.get(address(repeated, systems))
    assert page.status_code == 200
    assertNotContains(page, "Dollar</option>")


def test_a_free_licence_alone_has_handles_without_a_licence_price(reader, repeated, systems, hardware):
    list_price("5000", hardware=hardware)
    LicenceModel.objects.create(name="Free", metric="none")
    page = reader.get(address(repeated, systems))
    assertContains(page, "No two of these choices change places on this axis.")
    assertNotContains(page, 'value="licence-price"')


def test_handles_are_of_the_machine_and_the_system_that_are_named(repeated, systems, prices, host):
    big = Hardware.objects.create(name="Big", sockets=2, cores_per_socket=16)
    list_price("9000", hardware=big)
    other = variant(systems[1], hardware_id=big.pk, label="18 on Big")
    experiment = testing.make_experiment([systems[0], other], name="Two machines")
    for system, tps in ((systems[0], 1000.0), (other, 1800.0)):
        for repeat, part in enumerate((0.99, 1.0, 1.01), start=1):
            testing.succeeded(testing.make_run(experiment, system, 8, repeat), tps * part)
    room = setup(experiment, [systems[0], other], machine=big.pk, along="cores", system=key(experiment, systems[0]))
    assert (room.handle.subject, room.handle.usual) == ("Big", 16)
    assert room.handles["throughput"].subject == room.comparison.entries[0].label
    flat = next(subject for subject in room.drawn if subject.entry.system.hardware != big and subject.model.is_licensed)
    assert len({room.laboratory.price(flat.choice, value) for value in room.laboratory.values}) == 1


def test_the_tables_are_files_and_others_are_named(reader, repeated, systems, prices):
    flips = rows_of(reader.get(address(repeated, systems, priced=prices["core"].pk, csv="flips")))
    assert flips[0]["Cheaper before"] == "PostgreSQL 16 under Per core"
    assert flips[0]["Licence price, EUR per physical core and year"] == "420"
    lines = rows_of(reader.get(address(repeated, systems, csv="lines")))
    assert {row["System"] for row in lines} == {"PostgreSQL 16", "PostgreSQL 18"}
    assert all(float(row["From"]) < float(row["Price, EUR per TPS"]) < float(row["To"]) for row in lines)
    missing = reader.get(address(repeated, systems, csv="all"))
    assert missing.status_code == 404
    assert "flips, lines or handles" in missing.content.decode()


def test_the_comparison_leads_there_and_back_with_its_whole_state(reader, repeated, systems, prices):
    page = reader.get(both(repeated, systems, term=5, licence=prices["core"].pk)).content.decode()
    assert f"{LABORATORY}?" in page
    laboratory = reader.get(address(repeated, systems, term=5, price=7)).content.decode()
    assert "/compare/?curve=" in laboratory
    assert "term=5#prices-1" in laboratory.replace("&amp;", "&")


def test_an_address_without_curves_leads_to_their_choice_and_a_lost_one_says_so(reader):
    assertRedirects(reader.get(LABORATORY), "/compare/", fetch_redirect_response=False)
    assert reader.get(f"{LABORATORY}?curve=999-1").status_code == 404


def test_curves_of_unlike_protocols_are_refused_as_in_their_comparison(reader, repeated, systems, prices):
    from benchhub.bench.models import Protocol

    other = testing.make_experiment([systems[1]], name="Longer")
    protocol = Protocol.stored({"path": "socket", "duration_s": 300})
    testing.succeeded(testing.make_run(other, systems[1], 8, 1, protocol=protocol), 1.0)
    page = reader.get(f"{address(repeated, systems)}&curve={key(other, systems[1])}")
    assertContains(page, "Nothing is drawn.")
    assertNotContains(page, "figure-laboratory")


def test_the_page_writes_the_numbers_of_a_column_with_as_many_decimals(repeated, systems, prices):
    room = setup(repeated, systems, priced=prices["core"].pk)
    exact, spoken = tables.flip_panel(room).rows, tables.spoken_flip_panel(room).rows
    assert len(exact) == len(spoken) > 0
    for (value, *_), (spoken_value, *_) in zip(
        (row.values for row in exact), (row.values for row in spoken), strict=True
    ):
        assert float(spoken_value) == pytest.approx(float(value), rel=0.05)
    prices_there = [row.values[3] for row in spoken]
    assert len({price.as_tuple().exponent for price in prices_there}) == 1
    wide = [value for row in tables.wide_panel(room).rows for value in row.values[1:] if value is not None]
    assert len({price.as_tuple().exponent for price in wide}) == 1
    files = [row.values[3] for row in tables.line_panel(room).rows if row.values[3] is not None]
    assert max(-price.as_tuple().exponent for price in files) > max(-price.as_tuple().exponent for price in wide)


@pytest.mark.parametrize(
    ("values", "digits", "places"),
    [
        (["0.0917", "0.27"], 4, 4),
        (["1186", "583.9", "21.83"], 4, 0),
        (["1050", None, "927"], 4, 0),
        (["0.27", "0.0917"], 3, 3),
        ([None], 4, 0),
        (["0.004", "12.5"], 3, 4),
    ],
)
def test_a_column_has_the_decimals_of_its_largest_number_and_two_digits_of_its_smallest(values, digits, places):
    assert tables._places([value and Decimal(value) for value in values], digits) == places
