"""Readers choose terms that a link leaves open: the same prices as on the page, and nothing that the link hides."""

import itertools
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.http import QueryDict
from django.test import Client

from benchhub.analysis.snapshot import canonical
from benchhub.bench import testing
from benchhub.bench.models import System
from benchhub.catalog.models import ExchangeRate, Hardware, LicenceModel, ListPrice
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.models import Snapshot
from benchhub.reports.sharing import publish
from benchhub.reports.sharing.choices.choice import OPEN, selection
from benchhub.reports.sharing.choices.edition import Reading, edition
from benchhub.reports.sharing.conftest import SECRETS
from benchhub.reports.sharing.document import comparison as comparison_document
from benchhub.reports.testing import key

pytestmark = pytest.mark.django_db
ALL = ("host", "address", "discount", "vendor")
EVERYTHING = tuple(OPEN)


@pytest.fixture
def rate():
    return ExchangeRate.objects.create(
        base="EUR", quoted="USD", value=Decimal("1.25"), priced_on=date(2026, 1, 1), source="A bank"
    )


@pytest.fixture
def reader():
    return Client()


def chosen(snapshot, query, hidden=(), is_open=EVERYTHING):
    return edition(publish.projection(snapshot, hidden), Reading(is_open, selection(QueryDict(query))))


def on_the_page(comparison, **changes):
    """The document that the comparison itself would give today at these terms, without anything hidden."""
    query = QueryDict(comparison.query, mutable=True)
    for name, values in changes.items():
        query.setlist(name, values)
    loaded = Comparison.load(State.read(query), date(2026, 7, 1))
    at = datetime(2026, 7, 1, tzinfo=UTC)
    document = comparison_document.document(loaded, comparison.title, comparison.remarks, at, "1")
    return json.loads(publish._unfrozen(document))


def priced(document):
    names = ("answer", "prices", "price-figures", "what-if", "found")
    sections = [section for section in document["sections"] if section["id"] in names]
    tables = [table for table in document["tables"] if table["id"] not in ("levels", "findings", "systems", "settings")]
    return {"summary": document["summary"], "sections": sections, "tables": tables}


def later_price(amount, **subject):
    fields = {"priced_on": date(2026, 6, 1), "source": "a later quote", "currency": "EUR"}
    ListPrice.objects.create(amount=amount, **fields | {"description": str(amount)} | subject)


def licence(name):
    return str(LicenceModel.objects.get(name=name).pk)


def options(snapshot, name):
    (control,) = [control for control in chosen(snapshot, "").panel.controls if control.name == name]
    return [option.value for option in control.options]


def test_prices_of_a_reader_are_those_of_the_comparison_at_the_same_terms(rate, comparison, snapshot):
    """The order of licences in an address: 1 is 'Per core of Initech', 2 is 'Hardware only'."""
    for query, changes in (
        ("term=5", {"term": ["5"]}),
        ("load=1", {"load": ["1"]}),
        ("load=latency", {"load": ["latency"]}),
        ("licence=1", {"licence": [licence("Per core of Initech")]}),
        ("licence=2", {"licence": [licence("Hardware only")]}),
        ("currency=USD", {"currency": ["USD"]}),
        ("per=million", {"per": ["million"]}),
        ("term=1&load=1&licence=1&currency=USD", {
            "term": ["1"], "load": ["1"], "licence": [licence("Per core of Initech")], "currency": ["USD"],
        }),
    ):  # fmt: skip
        made = chosen(snapshot, query)
        assert made.panel.problems == ()
        assert priced(made.document) == priced(on_the_page(comparison, **changes)), query
        assert priced(made.document) != priced(chosen(snapshot, "").document), query


def test_a_reader_may_ask_for_the_price_of_a_million_transactions(snapshot, share, reader):
    _, address = share((), choices=("per",))
    usual, per_million = (reader.get(f"{address}{query}").content.decode() for query in ("", "?per=million"))
    assert "Price per TPS" in usual
    assert "Price per million transactions" not in usual
    assert "Price per million transactions" in per_million
    assert "EUR per million transactions</span>" in per_million
    assert "The maker's choice" not in per_million
    _, closed = share((), choices=("term",))
    assert "Price of: whoever made this link keeps" in reader.get(f"{closed}?per=million").content.decode()


def test_a_total_over_five_years_is_computed_by_hand(snapshot):
    """A machine for 5,000 and 20 cores at 1,800 a year, 12.5% off: 4,375 and 31,500 a year."""
    tables = {table["id"]: table for table in chosen(snapshot, "term=5").document["tables"]}
    names = [column["name"] for column in tables["prices"]["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in tables["prices"]["rows"]]
    assert {row["licence"]: row["total"] for row in rows} == {
        "Per core of Initech": "161875.00",
        "Hardware only": "4375.00",
    }


def test_a_list_price_on_which_only_a_readers_choice_rests_is_marked_too(
    comparison, experiment, publisher, systems, reader
):
    """The first system alone was run with 3 clients; at its peak the other one has a price, on a machine of its own."""
    other = System.objects.get(pk=systems[1].pk)
    other.pk, other.label, other.digest = None, "on a machine of its own", "other"
    other.hardware = Hardware.objects.create(name="Acme Y1", sockets=1, cores_per_socket=8)
    other.save()
    later_price("3000", hardware=other.hardware, priced_on=date(2026, 1, 1))
    elsewhere = testing.make_experiment([other], name="Elsewhere")
    for plan, system, clients in ((experiment, systems[0], 3), (elsewhere, other, 8)):
        run = testing.make_run(plan, system, clients, 1, spec=testing.whole_spec(clients=clients))
        testing.succeeded(run, 900.0)
    query = QueryDict(comparison.query, mutable=True)
    query.setlist("curve", [key(experiment, systems[0]), key(elsewhere, other)])
    query["load"] = "3"
    comparison.query = query.urlencode()
    snapshot = publish.comparison_snapshot(comparison, publisher)
    _, token = publish.link(snapshot, ["vendor"], "", publisher, name="a reader", choices=["load"])
    ListPrice.objects.filter(hardware=other.hardware).take_back(publisher)
    document = reader.get(f"/s/{token}/data.json?load=peak").json()
    assert document["taken_back"].startswith("A list price behind these prices was taken back")
    assert "taken_back" not in reader.get(f"/s/{token}/data.json").json()


def test_later_prices_licences_and_rates_have_no_part_in_what_a_reader_sees(rate, snapshot, systems):
    queries = ("term=5", "currency=USD", "licence=1&load=1", "term=2&load=latency")
    before = [priced(chosen(snapshot, query).document) for query in queries]
    for model in LicenceModel.objects.all():
        later_price(99999 + model.pk, licence_model=model)
    later_price(77777, hardware=Hardware.objects.get())
    LicenceModel.objects.get(name="Per core of Initech").revise(metric="socket")
    ExchangeRate.objects.create(
        base="EUR", quoted="USD", value=Decimal(9), priced_on=date(2026, 6, 1), source="Another"
    )
    clone = Snapshot.objects.create(
        title=snapshot.title, content=bytes(snapshot.content), sha256=snapshot.sha256, taken_at=snapshot.taken_at
    )
    assert [priced(chosen(clone, query).document) for query in queries] == before


def test_nothing_that_a_link_hides_is_in_any_choice_of_a_reader(rate, snapshot, share, reader):
    _, address = share(ALL, choices=EVERYTHING)
    secrets = [secret for texts in SECRETS.values() for secret in texts]
    names = ("term", "licence", "load", "currency")
    for values in itertools.product(*(options(snapshot, name) for name in names)):
        query = "&".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        text = chosen(snapshot, query, ALL).content.decode()
        assert [secret for secret in (*secrets, "12.5", "pricing") if secret in text] == [], query
    files = ("", "report", "data.json", "prices.csv", "split.csv", "page.html")
    for name in files:
        text = reader.get(f"{address}{name}?term=5&licence=1&load=1").content.decode()
        assert [secret for secret in (*secrets, "12.5%") if secret in text] == [], name


def test_a_class_that_is_hidden_alone_stays_hidden_at_every_term(snapshot):
    for hidden, term in itertools.product(("host", "vendor"), "12345"):
        text = chosen(snapshot, f"term={term}", (hidden,)).content.decode()
        assert [secret for secret in SECRETS[hidden] if secret in text] == []
    shown_steps = chosen(snapshot, "term=5", ("address",)).content.decode()
    assert "12.5%" in shown_steps
    for query in ("term=5", "load=1", "licence=1"):
        assert "12.5" not in chosen(snapshot, query, ("discount",)).content.decode()


def test_what_is_closed_or_not_understood_stays_as_the_maker_has_it_with_a_sentence(snapshot):
    for query, is_open, sentence in (
        ("term=5", ("load",), "Term: whoever made this link keeps the choice closed."),
        ("term=50", EVERYTHING, "Term: there is no such choice"),
        ("term=1&term=2", EVERYTHING, "Term: there is no such choice"),
        ("licence=7", EVERYTHING, "Licences: there is no such choice"),
        ("licence=1&licence=x", EVERYTHING, "Licences: there is no such choice"),
        ("load=3", EVERYTHING, "Level: there is no such choice"),
        ("currency=USD", EVERYTHING, "Currency: there is no such choice"),
    ):
        made = chosen(snapshot, query, is_open=is_open)
        assert made.sha256 == publish.projection(snapshot, ()).sha256
        assert made.panel.suffix == ""
        assert [problem.startswith(sentence) for problem in made.panel.problems] == [True], query


def test_one_choice_in_order_is_shown_while_another_is_refused(snapshot):
    made = chosen(snapshot, "term=5&load=900")
    assert made.panel.suffix == "?term=5"
    assert len(made.panel.problems) == 1
    assert made.document["choice"] == [{"title": "Term", "selected": "5 years", "makers": "3 years"}]


def test_the_makers_choice_has_the_bytes_that_were_published(snapshot):
    makers = publish.projection(snapshot, ALL)
    for query in ("", "term=3", "licence=2&licence=1", "load=peak"):
        made = chosen(snapshot, query, ALL)
        assert (made.sha256, made.content) == (makers.sha256, bytes(makers.content))
        assert made.panel.suffix == ""
    assert "choice" not in makers.content.decode() or "choice" not in json.loads(bytes(makers.content))


def test_a_reader_sees_the_makers_choice_and_the_way_back_to_it(share, reader):
    _, address = share(ALL, choices=EVERYTHING)
    text = reader.get(address).content.decode()
    assert "The maker's choice: 3 years, " in text.replace("&#x27;", "'")
    assert "Back to the maker" not in text
    moved = reader.get(f"{address}?term=5&load=1").content.decode().replace("&#x27;", "'")
    assert '<a href="?">Back to the maker\'s choice</a>' in moved
    assert "over 5 years" in moved
    assert 'href="data.json?term=5&amp;load=1"' in moved
    assert "Acme" not in moved


def test_files_follow_the_choice_and_a_digest_of_their_own_says_so(share, reader):
    _, address = share((), choices=("term",))
    makers, own = (reader.get(f"{address}data.json{query}").content for query in ("", "?term=5"))
    assert json.loads(own)["choice"][0]["selected"] == "5 years"
    assert canonical.digest(own) in reader.get(f"{address}?term=5").content.decode()
    assert canonical.digest(makers) in reader.get(address).content.decode()
    csv = reader.get(f"{address}prices.csv?term=5").content.decode()
    assert "5 years" in csv
    assert "3 years" not in csv
    offline = reader.get(f"{address}page.html?term=5").content.decode().replace("&#x27;", "'")
    assert "Term: 5 years, chosen by a reader; whoever made the link has 3 years." in " ".join(offline.split())
    assert "<form" not in offline


def test_a_link_that_leaves_nothing_open_is_the_same_page_whatever_is_asked(share, reader):
    _, address = share(())
    plain, moved = (reader.get(f"{address}{query}") for query in ("", "?term=5&load=1"))
    assert plain.content == moved.content
    assert plain.headers["ETag"] == moved.headers["ETag"]
    assert b"<form" not in plain.content


def test_pages_of_two_choices_are_never_taken_for_each_other(share, reader):
    _, address = share((), choices=EVERYTHING)
    tags = {reader.get(f"{address}?term={term}").headers["ETag"] for term in "1245"}
    assert len(tags) == 4
    tag = tags.pop()
    assert all(
        reader.get(f"{address}?term={t}", headers={"If-None-Match": tag}).status_code in (200, 304) for t in "1245"
    )


def test_a_snapshot_of_an_earlier_release_offers_no_choice(snapshot, publisher, client):
    document = json.loads(bytes(snapshot.content))
    del document["source"]["pricing"]
    earlier = publish.keep(document, publisher)
    _, token = publish.link(earlier, (), "", publisher, name="a reader", choices=["term"])
    assert b"<form" not in Client().get(f"/s/{token}/?term=5").content
    form = {"name": "b", "choices": ["term"], "expires": ""}
    text = client.post(f"/snapshots/{earlier.pk}/links/new", form).content.decode()
    assert "this snapshot has no prices, or is of an earlier release" in text


def test_an_address_with_thousands_of_values_is_read_within_bounds(snapshot):
    query = QueryDict("&".join(f"licence={number}" for number in range(5000)) + "&term=" + "9" * 5000)
    (term, licences) = selection(query)
    assert (len(term[1][0]), len(licences[1])) == (20, 40)


def test_the_maker_ticks_what_readers_may_change(snapshot, client, publisher):
    form = {"name": "b", "choices": ["term", "load"], "hidden": ["vendor"], "expires": ""}
    review = client.post(f"/snapshots/{snapshot.pk}/links/new", form)
    reviewed = review.context["page"].review.digest
    text = client.post(f"/snapshots/{snapshot.pk}/links/new", {**form, "reviewed": reviewed}).content.decode()
    assert "term and level" in text
    assert snapshot.links.get().choices == ["term", "load"]
