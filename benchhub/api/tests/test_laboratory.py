"""The price laboratory, asked by a program."""

import pytest

from benchhub.catalog.models import LicenceModel
from benchhub.reports.testing import list_price

pytestmark = pytest.mark.django_db


@pytest.fixture
def licences(systems):
    """A box of the systems for 5,000 EUR, and licences per socket at 4,200 EUR and per core at 1,800 EUR a year."""
    list_price("5000", hardware=systems[0].hardware)
    models = [LicenceModel.objects.create(name=f"Per {metric}", metric=metric) for metric in ("socket", "core")]
    for model, amount in zip(models, ("4200", "1800"), strict=True):
        list_price(amount, licence_model=model)
    return models


@pytest.fixture
def query(experiment, systems):
    return "&".join(f"curve={experiment.pk}-{system.pk}" for system in systems)


def test_a_program_reads_where_two_licences_flip_and_every_point_of_the_lines(viewer, query, licences, systems):
    core, hardware = licences[1], systems[0].hardware
    answer = viewer.send("get", f"laboratory/?{query}&priced={core.pk}").json()
    cores = hardware.sockets * hardware.cores_per_socket
    flip = answer["flips"][0]
    assert float(flip["value"]) == pytest.approx(4200 * hardware.sockets / cores, abs=0.02)
    assert (flip["certainty"], flip["first"].split(" under ")[1]) == ("same runs on both sides", "Per core")
    assert answer["sentences"][0].startswith("Break-even at")
    assert (answer["along"], answer["unit"]) == ("licence-price", "EUR per TPS")
    assert all(len(choice["points"]) > 50 for choice in answer["choices"])
    assert {handle["parameter"] for handle in answer["handles"]} >= {"price", "cores", "term", "throughput"}


def test_prices_where_the_handles_are_are_those_of_the_comparison(viewer, query, licences):
    for terms in ("", "&term=5&discount=12.5", "&utilisation=80&rounding=up"):
        compared = viewer.send("get", f"comparisons/?{query}{terms}").json()["prices"]["rows"]
        moved = viewer.send("get", f"laboratory/?{query}{terms}").json()["choices"]
        amounts = ("price", "exact", "total", "per_million", "derivation")
        expected = {(row["key"], row["licence_model"]): [row[name] for name in amounts] for row in compared}
        assert {(row["key"], row["licence_model"]): [row[name] for name in amounts] for row in moved} == expected


def test_what_a_page_would_pass_over_is_refused(viewer, query, licences):
    wrong = {
        "along=sideways": "?along", "priced=999": "?priced", "machine=999": "?machine", "system=1-999": "?system",
        "price=-1": "?price", "term=9": "?term", "colour=red": "?colour",
    }  # fmt: skip
    for parameter, pointer in wrong.items():
        answer = viewer.send("get", f"laboratory/?{query}&{parameter}")
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, pointer), parameter
    assert viewer.send("get", "laboratory/").status_code == 400
    assert viewer.send("get", "laboratory/?curve=999-1").status_code == 409


def test_curves_without_a_price_have_no_laboratory(viewer, query):
    answer = viewer.send("get", f"laboratory/?{query}")
    assert answer.status_code == 409
    assert "no curve of this comparison has a price" in answer.json()["detail"]
