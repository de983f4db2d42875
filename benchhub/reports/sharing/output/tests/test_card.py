"""The picture of a preview card: what is drawn in it, who gets it, and who does not."""

import html
import io
import re
from dataclasses import astuple

import pytest
from django.test import Client
from django.utils import timezone
from PIL import Image

from benchhub.analysis.snapshot import canonical
from benchhub.reports.models import Link
from benchhub.reports.published.files import reports
from benchhub.reports.sharing import passwords
from benchhub.reports.sharing.conftest import SECRETS
from benchhub.reports.sharing.document import published
from benchhub.reports.sharing.output import card
from benchhub.ui.templatetags.components import sum_marked

pytestmark = pytest.mark.django_db
PICTURE = re.compile(r'<meta property="og:image" content="([^"]+)">')


@pytest.fixture
def stranger():
    return Client()


def shown(content):
    return Image.open(io.BytesIO(content))


def test_a_card_draws_the_bars_and_figures_of_the_answer_and_no_throughput_where_it_is_money(snapshot):
    picture = card.card(canonical.from_bytes(bytes(snapshot.content)))
    # 12.5% off: a machine for 5,000 EUR, alone or with 20 cores at 1,800 EUR a year for 3 years.
    assert (picture.title, picture.axis) == ("16 or 18 on quokka", "Total over 3 years")
    names = [(bar.name + bar.under, bar.value, bar.series) for bar in picture.bars]
    assert names == [
        ("Hardware only, PostgreSQL 18", "4,375 EUR", 1),
        ("Hardware only, PostgreSQL 16", "4,375 EUR", 0),
        ("Per core of Initech, PostgreSQL 18", "98,875 EUR", 1),
        ("Per core of Initech, PostgreSQL 16", "98,875 EUR", 0),
    ]
    assert [bar.width_percent for bar in picture.bars] == [4.42, 4.42, 100.0, 100.0]
    assert picture.figures == (("Throughput", "1,120 TPS"), ("Price per TPS", "3.91 EUR"), (picture.axis, "4,375 EUR"))
    assert picture.curves == ()


def test_a_name_too_long_for_its_bar_keeps_the_system_that_tells_it_from_the_next():
    whole = card._cut("PostgresPURE, per socket", ", PostgreSQL 18", 22, 10_000)
    assert whole == "PostgresPURE, per socket, PostgreSQL 18"
    short = card._cut("PostgresPURE, per socket", ", PostgreSQL 18", 22, 300)
    assert short.startswith("Postgres") and short.endswith("..., PostgreSQL 18")
    assert card._cut("PostgresPURE", ", a system with a very long name", 22, 200).endswith("...")


def test_a_card_without_an_answer_draws_the_curves_of_its_first_figure(snapshot):
    document = canonical.from_bytes(bytes(snapshot.content))
    document["sections"] = [section for section in document["sections"] if section["id"] != "answer"]
    picture = card.card(document)
    assert (picture.axis, picture.across, picture.bars) == ("Throughput, TPS", "clients", ())
    # 300 and 310 at 1 client; 980 and 1,020, and 1,100 and 1,140 at 8
    assert [(curve.name, curve.points) for curve in picture.curves] == [
        ("PostgreSQL 16", ((1.0, 304.95901364), (8.0, 999.799979996))),
        ("PostgreSQL 18", ((1.0, 304.95901364), (8.0, 1119.82141433))),
    ]


def test_a_card_says_the_verdict_of_the_page_and_how_far_to_trust_it(snapshot, share, stranger):
    picture = card.card(canonical.from_bytes(bytes(snapshot.content)))
    _, address = share()
    page = html.unescape(stranger.get(address).content.decode())
    assert f"<h2>{sum_marked(picture.verdict)}</h2>" in page
    assert picture.confidence.startswith("Confidence: ")
    assert picture.confidence.partition(". ")[2] in page
    assert picture.verdict not in picture.summary


@pytest.mark.parametrize("hidden", [("host",), ("vendor", "discount"), ("host", "address", "discount", "vendor")])
def test_what_a_link_hides_is_not_drawn(share, hidden):
    link, _ = share(hidden)
    text = str(astuple(card.card(canonical.from_bytes(bytes(link.projection.content))))).lower()
    assert [name for class_name in hidden for name in SECRETS.get(class_name, ()) if name.lower() in text] == []
    assert "postgresql 18" in text


def test_a_page_names_a_picture_that_anybody_gets_without_signing_in(share, stranger):
    link, address = share()
    for page in (address, f"{address}report"):
        [picture] = PICTURE.findall(stranger.get(page).content.decode())
        assert picture == f"http://testserver{address}card.png"  # whole, as other sites need it
    answer = stranger.get(picture)
    assert (answer.status_code, answer["Content-Type"], answer.cookies) == (200, "image/png", {})
    image = shown(answer.content)
    assert (image.format, image.size) == ("PNG", (1200, 630))
    assert len(image.getcolors(100_000)) > 10  # something is drawn
    again = stranger.get(picture, headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    link.refresh_from_db()
    assert link.views == 2  # of the pages


def test_the_picture_is_closed_with_the_link(share, stranger):
    link, address = share()
    assert stranger.get(f"{address}card.png").status_code == 200
    Link.objects.filter(pk=link.pk).update(revoked_at=timezone.now())
    answer = stranger.get(f"{address}card.png")
    assert (answer.status_code, answer["Content-Type"].startswith("text/html")) == (410, True)


def test_a_link_with_a_password_has_no_picture(share, stranger):
    link, address = share(password="correct horse")
    opened = f"{address}k/{passwords.key(link)}/"
    assert b"PostgreSQL 18" in stranger.get(opened).content
    assert not PICTURE.search(stranger.get(opened).content.decode())
    for picture in (f"{address}card.png", f"{opened}card.png"):
        answer = stranger.get(picture)
        assert (b"PNG" in answer.content, answer["Content-Type"].startswith("text/")) == (False, True)


@pytest.mark.parametrize("report", reports(), ids=lambda report: report.about["slug"])
def test_every_published_report_has_a_card(report):
    document = canonical.from_bytes(canonical.to_bytes(published.document(report, timezone.now(), "1")))
    assert shown(card.drawn(card.card(document))).size == (1200, 630)


@pytest.mark.parametrize(
    ("highest", "step"), [(1140.0, 500.0), (0.9, 0.5), (1000.0, 500.0), (4.0, 1.0), (9.0, 5.0), (0.0, 0.5)]
)
def test_ticks_are_round_and_about_four(highest, step):
    assert card.tick(highest) == pytest.approx(step)


@pytest.mark.parametrize(
    "picture",
    [
        card.Card("測試 " * 40, "word" * 200),
        card.Card("", "", "TPS", "", (card.Curve("一" * 30, 8, ((4.0, 0.0), (4.0, 0.0))),)),
        card.Card("x " * 300, "y " * 900, "TPS", "clients", (card.Curve("long " * 30, 1, ((1.0, 1e12), (1e6, 2.0))),)),
        card.Card(
            "x", "", "y " * 90, bars=(card.Bar("long " * 30, "x", "1e12 EUR", 100.0, 1),), figures=(("", "9" * 40),)
        ),
    ],
    ids=["letters that the font has not", "one level and nothing measured", "far too much", "names that do not fit"],
)
def test_odd_content_is_drawn_too(picture):
    assert shown(card.drawn(picture)).size == (1200, 630)
