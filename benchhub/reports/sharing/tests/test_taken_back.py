import csv
import io

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.snapshot import canonical
from benchhub.catalog.models import ListPrice
from benchhub.release import release
from benchhub.reports.sharing.conftest import SECRETS
from benchhub.reports.sharing.output import pdf

pytestmark = pytest.mark.django_db


@pytest.fixture
def stranger():
    return Client()


def test_readers_are_told_of_a_list_price_that_was_taken_back_on_page_and_in_files_alike(
    share, stranger, systems, publisher
):
    """It is the price of the machine, on which both systems rest under both licences: four prices."""
    link, address = share(["vendor"], choices=("term",))
    before = {name: stranger.get(f"{address}{name}") for name in ("", "data.json", "prices.csv", "page.html")}
    assert all(b"taken back" not in answer.content for answer in before.values())
    ListPrice.objects.filter(hardware=systems[0].hardware).take_back(publisher)
    day = f"{ListPrice.objects.get(hardware=systems[0].hardware).taken_back_at:%Y-%m-%d}"
    mark = f"rests on a list price that was taken back {day}"
    unchanged = stranger.get(address, headers={"If-None-Match": before[""].headers["ETag"]})
    assert unchanged.status_code == 200
    for path in (address, f"{address}page.html", f"{address}?term=5"):
        text = stranger.get(path).content.decode()
        assert text.split('id="prices"')[1].split('id="price-figures"')[0].count(mark) == 4
        assert text.count("a mark stands at each that rests on it") == 1
        assert not any(secret in text for secret in SECRETS["vendor"])
    rows = list(csv.DictReader(io.StringIO(stranger.get(f"{address}prices.csv").content.decode())))
    assert [row["list_price_taken_back"] for row in rows] == [day] * 4
    old_rows = csv.DictReader(io.StringIO(before["prices.csv"].content.decode()))
    assert [{**row, "list_price_taken_back": day} for row in old_rows] == rows
    assert stranger.get(f"{address}data.json").json()["taken_back"].startswith("A list price behind these prices")
    link.projection.refresh_from_db()
    assert canonical.digest(bytes(link.projection.content)) == link.projection.sha256


def test_a_snapshot_that_was_drawn_before_a_list_price_was_taken_back_says_so_from_then_on(
    snapshot, client, systems, publisher
):
    address = reverse("snapshot", args=[snapshot.pk])
    for _ in range(2):
        assertNotContains(client.get(address), "rests on a list price that was taken back")
    ListPrice.objects.filter(hardware=systems[0].hardware).take_back(publisher)
    day = f"{ListPrice.objects.get(hardware=systems[0].hardware).taken_back_at:%Y-%m-%d}"
    assertContains(client.get(address), f"rests on a list price that was taken back {day}")


def test_a_print_made_before_a_list_price_was_taken_back_is_not_sent_again(
    share, stranger, systems, publisher, monkeypatch
):
    link, address = share()
    link.projection.prints.create(name="page", release=release(), sha256=link.projection.sha256, content=b"%PDF-before")
    monkeypatch.setattr(pdf, "printed", lambda html: html.encode())
    assert stranger.get(f"{address}page.pdf").content == b"%PDF-before"
    ListPrice.objects.filter(hardware=systems[0].hardware).take_back(publisher)
    assert b"rests on a list price that was taken back" in stranger.get(f"{address}page.pdf").content
    assert link.projection.prints.get().sha256 != link.projection.sha256
