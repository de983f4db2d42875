import csv
import io
import json
import re
import tarfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from benchhub.accounts.models import Entry
from benchhub.analysis.snapshot import canonical, nodes, redaction
from benchhub.bench.models import Experiment, LatencyHistogram, Run
from benchhub.catalog.models import ListPrice
from benchhub.release import release
from benchhub.reports.models import Link, Projection, Snapshot
from benchhub.reports.sharing import passwords, publish
from benchhub.reports.sharing.conftest import SECRETS
from benchhub.reports.sharing.output import exports, pdf, render, turns

pytestmark = pytest.mark.django_db
ALL = ("host", "address", "discount", "vendor")


@pytest.fixture
def stranger():
    return Client()


def document(snapshot):
    return json.loads(bytes(snapshot.content))


def test_a_snapshot_holds_its_own_digest_and_all_that_the_page_shows(snapshot):
    content = bytes(snapshot.content)
    assert canonical.digest(content) == snapshot.sha256
    node = document(snapshot)
    assert (node["format"], node["version"], node["unit"]) == ("benchhub.snapshot", 1, "TPS")
    assert [section["id"] for section in node["sections"]] == [
        "answer", "curves", "levels", "prices", "price-figures", "what-if", "found", "loads", "statistics",
        "hardware", "environment", "tuning", "differences", "method", "sources", "settings",
    ]  # fmt: skip
    assert [table["id"] for table in node["tables"]] == [
        "levels", "findings", "prices", "bars", "clients", "split", "sensitivity", "standbys", "pareto", "systems",
        "settings",
    ]  # fmt: skip


def test_what_has_no_verdict_and_no_percentile_on_the_page_has_none_in_a_snapshot(comparison, publisher, systems):
    """One system after the other, a minute each; of one run 1,000 latencies of 3 ms are known, of its fellow none."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    runs = list(Run.objects.order_by("system", "position"))
    for place, run in enumerate(runs):
        Run.objects.filter(pk=run.pk).update(started_at=noon + place * timedelta(minutes=1))
    bins = {"lower_us": [3000], "upper_us": [3001], "counts": [1000], "sum_us": 1, "min_us": 3000, "max_us": 3000}
    for run in runs[:3]:
        LatencyHistogram.objects.create(run=run, name="latency", **bins)
    node = document(publish.comparison_snapshot(comparison, publisher))
    levels = next(table for table in node["tables"] if table["id"] == "levels")
    names = [column["name"] for column in levels["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in levels["rows"]]
    assert [(row["ratio_lowest"], row["ratio_verdict"]) for row in rows][1::2] == [("", "withheld")] * 2
    # 1 client of 16: both runs; 8 clients: one of two, so that the other may be the worse one.
    percentiles = {(row["curve"], row["clients"]): (row["latency_p99_ms"], row["latency_samples"]) for row in rows}
    assert percentiles["PostgreSQL 16", "1"] == ("3.0", "2000")
    assert percentiles["PostgreSQL 16", "8"] == ("", "")
    [panel] = [section for section in node["sections"] if section["id"] == "loads"]
    assert [block["kind"] for block in panel["blocks"]] == [
        "figure", "paragraph", "figure", "paragraph", "paragraph", "table",
    ]  # fmt: skip
    assert "no verdict" in json.dumps(node["sections"])


def test_a_snapshot_and_what_a_link_shows_of_it_are_never_rewritten(snapshot, share):
    share(["host"])
    for rows in (Snapshot.objects.all(), Projection.objects.all()):
        for change in (lambda rows=rows: rows.update(sha256="0"), rows.delete):
            with pytest.raises(IntegrityError), transaction.atomic():
                change()
    assert not Snapshot.objects.filter(sha256="0").exists()


def test_later_edits_change_nothing_in_it(snapshot, share, stranger, systems):
    _, address = share()
    before = stranger.get(address).content
    Experiment.objects.update(name="Renamed")
    dearer = {"description": "Acme Z9", "source": "Another quote", "currency": "EUR", "priced_on": "2026-02-01"}
    ListPrice.objects.create(hardware=systems[0].hardware, amount=9000, **dearer)
    assert stranger.get(address).content == before
    assert b"Renamed" not in stranger.get(f"{address}data.json").content


def test_a_shared_page_needs_no_login_and_sets_no_cookie(share, stranger):
    _, address = share()
    answer = stranger.get(address)
    assert answer.status_code == 200
    assert not answer.cookies
    assert b"16 or 18 on quokka" in answer.content
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"


def test_remarks_are_text_and_not_markup(share, stranger):
    _, address = share()
    content = stranger.get(address).content
    assert b"Ask &lt;b&gt;ada&lt;/b&gt;." in content
    assert b"<b>ada</b>" not in content


def test_a_page_has_what_a_preview_card_needs(share, stranger):
    _, address = share(["host"])
    content = stranger.get(address).content.decode()
    assert '<meta property="og:title" content="16 or 18 on host A">' in content
    assert '<meta property="og:description" content="Cheapest: Hardware only' in content


def test_only_the_digest_of_a_token_is_kept(share):
    link, address = share()
    token = address.split("/")[2]
    assert len(token) == 43  # 32 bytes in base64 without padding
    assert token not in str(Link.objects.filter(pk=link.pk).values().get())


def test_a_page_is_revalidated_and_costs_nothing_while_it_is_as_it_was(share, stranger):
    link, address = share()
    first = stranger.get(address)
    assert first.headers["Cache-Control"] == "private, no-cache"
    again = stranger.get(address, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert stranger.head(address).status_code == 200  # who only asks whether it is there has not seen it
    link.refresh_from_db()
    assert (link.views, link.viewed_at is not None) == (2, True)


def test_gzip_is_sent_to_those_who_take_it(share, stranger):
    import gzip

    _, address = share()
    zipped = stranger.get(address, headers={"Accept-Encoding": "gzip"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert b"16 or 18 on quokka" in gzip.decompress(zipped.content)


def test_a_link_of_older_rules_shows_a_projection_by_todays_and_the_older_one_stays(share, stranger, snapshot):
    link, address = share(["host"])
    content = canonical.to_bytes({**canonical.from_bytes(bytes(link.projection.content)), "summary": "leaky"})
    facts = {"hidden": ["host"], "content": content, "sha256": canonical.digest(content)}
    link.projection = older = snapshot.projections.create(redaction=1, **facts)
    link.save()
    assert b"leaky" not in stranger.get(f"{address}data.json").content
    assert b"leaky" not in stranger.get(address).content
    link.refresh_from_db()
    assert link.projection.redaction == redaction.VERSION
    assert publish.projection(snapshot, ["host"]) == link.projection
    older.refresh_from_db()
    assert bytes(older.content) == content


def test_a_revoked_link_is_closed_at_once_even_for_those_who_have_the_page(share, stranger):
    link, address = share()
    etag = stranger.get(address).headers["ETag"]
    Link.objects.filter(pk=link.pk).update(revoked_at=timezone.now())
    answer = stranger.get(address, headers={"If-None-Match": etag})
    assert answer.status_code == 410
    assert b"withdrawn" in answer.content
    assert b"PostgreSQL 18" not in answer.content
    assert stranger.get(f"{address}data.json").status_code == 410


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, 410, b"expired"),
        ({"paused_at": timezone.now()}, 403, b"paused"),
    ],
)
def test_an_expired_or_paused_link_shows_nothing(share, stranger, fields, status, sentence):
    link, address = share()
    Link.objects.filter(pk=link.pk).update(**fields)
    for name in ("", "report", "data.json", "levels.csv", "page.html", "page.pdf"):
        answer = stranger.get(address + name)
        assert (answer.status_code, sentence in answer.content) == (status, True)
        assert b"1,120" not in answer.content
    link.refresh_from_db()
    assert link.views == 0


def test_a_wrong_token_finds_nothing(share, stranger):
    _, address = share()
    assert stranger.get(address[:-2] + "x/").status_code == 404
    assert stranger.get("/s/x/data.json").status_code == 404


def test_a_password_opens_the_page_by_an_address_and_not_by_a_cookie(share, stranger):
    _, address = share(password="correct horse")
    question = stranger.get(address)
    assert b"A password is needed" in question.content
    assert b"PostgreSQL" not in question.content
    wrong = stranger.post(address, {"password": "wrong"})
    assert (wrong.status_code, b"This password is wrong." in wrong.content) == (403, True)
    right = stranger.post(address, {"password": "correct horse"})
    assert right.status_code == 302
    assert list(right.cookies) == [passwords.COOKIE]
    stranger.cookies.clear()
    opened = right.headers["Location"]
    assert b"PostgreSQL 18 gives 1.12x" in stranger.get(opened).content
    assert stranger.get(f"{opened}data.json").status_code == 200
    assert stranger.get(f"{address}data.json").headers["Content-Type"].startswith("text/html")


def test_the_address_that_a_password_gives_is_of_one_link_and_lasts_an_hour(share, stranger, monkeypatch):
    link, address = share(password="correct horse")
    _, other_address = share(password="correct horse")
    key = passwords.key(link)
    assert b"Type the password again" in stranger.get(f"{other_address}k/{key}/").content
    monkeypatch.setattr(passwords, "OPEN_FOR", timedelta(seconds=-1))
    late = stranger.get(f"{address}k/{key}/")
    assert (late.status_code, b"Type the password again" in late.content) == (403, True)


def test_the_password_that_somebody_with_an_account_types_leaves_no_token_in_the_audit_log(share, client):
    _, address = share(password="correct horse")
    client.post(address, {"password": "wrong"})
    assert not Entry.objects.filter(address__contains="/s/").exists()


def test_a_page_may_be_in_a_frame_of_the_sites_that_the_link_names_only(share, stranger):
    _, closed = share()
    _, open_to = share(embedded_by="https://wiki.example.org")
    assert "frame-ancestors 'none'" in stranger.get(closed).headers["Content-Security-Policy"]
    assert "frame-ancestors https://wiki.example.org" in stranger.get(open_to).headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in stranger.get(open_to).headers


@pytest.mark.parametrize("hidden", [("host",), ("address",), ("vendor",), ALL])
def test_what_is_hidden_is_in_no_byte_of_page_or_file(share, stranger, hidden):
    _, address = share(hidden)
    names = [name for class_name in hidden for name in SECRETS.get(class_name, ())]
    for file in ("", "report", "data.json", "levels.csv", "prices.csv", "systems.csv", "page.html"):
        answer = stranger.get(address + file)
        assert answer.status_code == 200
        text = answer.content.decode().lower()
        assert [name for name in names if name.lower() in text] == []
        unbroken = re.sub(r"(?:<br>|\\u003cbr\\u003e|\s)+", " ", text)  # labels of figures are broken into lines
        assert [name for name in names if name.lower() in unbroken] == []
        says_discount = file not in ("levels.csv", "systems.csv") and "discount" not in hidden
        assert ("12.5%" in text) == says_discount


@pytest.mark.parametrize("class_name", SECRETS)
def test_what_is_not_hidden_is_there(share, stranger, class_name):
    _, address = share([name for name in ALL if name != class_name])
    text = stranger.get(f"{address}data.json").content.decode()
    assert SECRETS[class_name][0] in text


def test_the_files_agree_with_the_page_to_the_last_digit(share, stranger):
    _, address = share()
    page = stranger.get(address).content.decode()
    rows = list(csv.DictReader(io.StringIO(stranger.get(f"{address}levels.csv").content.decode())))
    means = {(row["curve"], row["clients"]): row["geometric_mean (TPS)"] for row in rows}
    assert means["PostgreSQL 18", "8"] == "1119.82141433"  # of 1,100 and 1,140
    assert '<span class="strong" title="1119.82141433">1,120</span>' in page
    prices = list(csv.DictReader(io.StringIO(stranger.get(f"{address}prices.csv").content.decode())))
    cell = next(row for row in prices if row["curve"] == "PostgreSQL 18" and row["licence"] == "Per core of Initech")
    # (5,000 + 3 x 20 x 1,800) less 12.5% = 98,875; 98,875 / 1,119.82 = 88.2954...
    assert Decimal(cell["total (as in the column currency)"]) == Decimal("98875")
    price = cell["price (the column currency per the column unit)"]
    assert price == "88.30"
    assert f'>{price}</span><span class="unit">EUR per TPS</span>' in page
    data = stranger.get(f"{address}data.json")
    table = next(table for table in data.json()["tables"] if table["id"] == "prices")
    assert [list(cell.values())] == [row for row in table["rows"] if row[:3:2] == [cell["curve"], cell["licence"]]]


def test_a_number_below_0_is_no_formula_with_its_unit_either_and_other_text_is_made_harmless():
    cells = ["-1", "-1 ms", "-1 cmd|x", "=1+1", "@x"]
    table = nodes.data("t", "T", [nodes.data_column("value")], [[cell] for cell in cells])
    rows = list(csv.reader(io.StringIO(exports.table_csv(table))))
    assert [row[0] for row in rows[1:]] == ["-1", "-1 ms", "'-1 cmd|x", "'=1+1", "'@x"]


def test_the_digest_on_the_page_is_that_of_the_json(share, stranger):
    import hashlib

    _, address = share(["host"])
    content = stranger.get(f"{address}data.json").content
    assert hashlib.sha256(content).hexdigest() in stranger.get(address).content.decode()


def test_one_file_asks_nothing_of_any_server(share, stranger):
    _, address = share()
    text = stranger.get(f"{address}page.html").content.decode()
    head, _, _ = text.partition("<script>")
    assert "default-src 'none'" in head
    assert "src=" not in head
    assert "<link" not in head
    assert text.count("<script>") == text.count("</script>") - text.count('type="application/json"')


def test_the_report_has_the_same_sections_numbered_and_ends_with_the_settings(share, stranger):
    _, address = share()
    text = stranger.get(f"{address}report").content.decode()
    heads = [part.partition("</h2>")[0].partition(">")[2] for part in text.split("<h2")[1:]]
    assert heads[:2] == ['Cheapest: Hardware only, <b class="sum">4,375 EUR</b> over 3 years', "1. Hardware, as bought"]
    assert "13. Conclusions, and how sure they are" in heads
    assert heads[-2] == "15. Appendix: settings, as found"


def test_a_reader_can_repeat_each_peak_by_files_that_name_no_host(share, stranger):
    _, address = share(ALL)
    assert "Repeat it: PostgreSQL 18, run" in stranger.get(address).content.decode()
    content = stranger.get(f"{address}repeat-2.tar.gz").content
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        texts = {entry.name: tar.extractfile(entry).read().decode() for entry in tar}
    assert "-c 8 -j 1 -T 2 -M simple" in texts["repeat-2/2-run.sh"]
    every = "".join(texts.values())
    assert [name for names in SECRETS.values() for name in (*names, "secret") if name in every] == []


def test_an_unknown_file_names_those_there_are(share, stranger):
    _, address = share()
    answer = stranger.get(f"{address}secrets.csv")
    assert answer.status_code == 404
    assert b"data.json, page.html, report.html, " in answer.content
    assert b"levels.csv, findings.csv, prices.csv" in answer.content


def test_where_there_is_no_chromium_the_page_and_the_file_say_so(share, stranger, monkeypatch):
    link, address = share()
    monkeypatch.setenv("PATH", "/nowhere")
    answer = stranger.get(f"{address}page.pdf")
    assert (answer.status_code, b"This server has no Chromium" in answer.content) == (501, True)
    document = canonical.from_bytes(bytes(link.projection.content))
    page = render.html_page(render.DocumentPage(document, link.projection.sha256))
    assert "PDF: this server has no Chromium" in " ".join(page.split())
    assert "page.pdf" not in page


def test_who_waits_long_for_a_print_is_told_to_come_again(share, stranger, monkeypatch):
    _, address = share()
    monkeypatch.setattr(turns, "PATIENCE_S", 0.01)
    with pdf.PRINTS.turn():
        answer = stranger.get(f"{address}page.pdf")
    assert (answer.status_code, b"Other pages are being printed." in answer.content) == (501, True)


def test_a_page_is_printed_once_by_each_release(share, stranger):
    link, address = share()
    link.projection.prints.create(name="page", release=release(), sha256=link.projection.sha256, content=b"%PDF-kept")
    assert stranger.get(f"{address}page.pdf").content == b"%PDF-kept"


def test_a_shared_page_takes_no_more_than_three_queries_once_it_was_made(share, stranger, django_assert_num_queries):
    _, address = share()
    stranger.get(address)
    with django_assert_num_queries(3):  # the link, its count of views, and list prices that were taken back
        stranger.get(address)


def test_what_if_is_frozen_with_the_subject_and_the_numbers_of_the_page(snapshot):
    node = document(snapshot)
    section = next(section for section in node["sections"] if section["id"] == "what-if")
    assert section["blocks"][0]["text"].startswith("These answers are about PostgreSQL 16 under Hardware only,")
    names = [block["id"] for block in section["blocks"] if block["kind"] == "figure"]
    assert names == ["sensitivity", "standbys", "pareto"]  # one licence costs something: there is no break-even
    table = next(table for table in node["tables"] if table["id"] == "standbys")
    # no standby: 5,000 less 12.5% = 4,375; one: the hardware again
    totals = [row[[column["name"] for column in table["columns"]].index("Total, EUR")] for row in table["rows"]]
    assert totals[:2] == ["4375.00", "8750.00"]


def test_what_moves_the_price_tells_a_discount_and_goes_with_it(share, stranger):
    _, open_address = share()
    _, hiding_address = share(["discount"])
    assert stranger.get(f"{open_address}sensitivity.csv").status_code == 200
    assert stranger.get(f"{hiding_address}sensitivity.csv").status_code == 404
    text = stranger.get(f"{hiding_address}data.json").content.decode()
    assert "Discount on everything" not in text and '"id":"standbys"' in text
