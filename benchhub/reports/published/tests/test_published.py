import csv
import io
import json
import re
from decimal import Decimal
from html import unescape

import pytest
from django.contrib.auth import get_user_model
from django.utils.html import strip_tags
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.reports.published import page as published_page
from benchhub.reports.published.files import reports

pytestmark = pytest.mark.django_db
QUERIES = 2  # session, user: the reports are files
SLUGS = ("postgrespure-s822l", "postgresql-on-power8", "postgresql-on-ibm-z", "soliddb-tatp-max5")
TABLES = [(report.about["slug"], key) for report in reports() for key in published_page.all_tables(report)]


@pytest.fixture
def reader(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


def page(reader, slug):
    return reader.get(f"/published/{slug}/")


def figures(response):
    scripts = re.findall(r'<script id="([\w-]+)" type="application/json">(.*?)</script>', response.content.decode())
    return {name: json.loads(text) for name, text in scripts}


def texts(html, tag):
    return [
        " ".join(unescape(strip_tags(cell)).split()) for cell in re.findall(rf"<{tag}\b.*?</{tag}>", html, re.DOTALL)
    ]


def tables(response):
    """Title -> rows of cells as text, of each table with figures."""
    rows_by_title = {}
    for part in response.content.decode().split("<h3>")[1:]:
        if '<table class="printed stack bare">' in part:
            rows = re.findall(r"<tr>(.*?)</tr>", part[: part.index("</table>")], re.DOTALL)
            rows_by_title[unescape(part[: part.index("</h3>")])] = [texts(row, "td") for row in rows[1:]]
    return rows_by_title


@pytest.mark.parametrize("path", ["/published/", f"/published/{SLUGS[0]}/", f"/published/{SLUGS[0]}/?csv=prices"])
def test_nothing_is_shown_without_signing_in(client, path):
    assert client.get(path).status_code == 302


def test_the_list_names_the_four_reports_and_how_many_of_their_numbers_agree(reader, django_assert_num_queries):
    with django_assert_num_queries(QUERIES):
        response = reader.get("/published/")
    assertContains(response, "Published, not measured here.")
    for slug, year, agree in zip(
        SLUGS, (2015, 2014, 2018, 2011), ("68 of 85", "13 of 18", "10 of 12", "19 of 21"), strict=True
    ):
        assertContains(response, f'href="/published/{slug}/"')
        assertContains(response, f'<td class="n">{year}</td>')
        assertContains(response, agree)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_report_is_marked_as_published_and_asks_no_more_than_who_reads(reader, slug, django_assert_num_queries):
    with django_assert_num_queries(QUERIES + 1):  # snapshots
        response = page(reader, slug)
    assertContains(response, "Published, not measured here.")
    for title in ("What does not survive", "Hardware, settings and method", "Oddities, kept as they are"):
        assertContains(response, title)
    [report] = [report for report in reports() if report.about["slug"] == slug]
    text = unescape(response.content.decode())
    assert all(finding in text for finding in report.findings)
    assert all(check.why in text for check in report.checks)
    assert response.content.decode().count("How was this computed?</summary>") == len(report.checks)


def test_page_csv_document_and_api_have_both_intervals_of_a_check_as_numbers(reader):
    ranges = re.findall(r'<span\s+class="under">(.*?)</span>', page(reader, SLUGS[2]).content.decode())
    assert {"44.5 to 45.5", "40.04 to 45.44"} <= set(ranges)
    content = reader.get(f"/published/{SLUGS[2]}/?csv=recomputation").content.decode()
    gain = next(row for row in csv.DictReader(io.StringIO(content)) if row["Group"] == "Gains")
    columns = ("Published from", "Published to", "Computed from", "Computed to", "Verdict")
    expected = ["44.5", "45.5", "40.04", "45.44", "consistent"]
    assert [gain[column] for column in columns] == expected
    address = f"/api/v1/published-reports/{SLUGS[2]}/"
    [check] = [check for check in reader.get(address).json()["checks"] if check["group"] == "Gains"]
    names = ("published_low", "published_high", "computed_low", "computed_high", "verdict")
    assert [check[name] for name in names] == expected
    document = json.loads(reader.get(f"{address}document/").content)
    [table] = [table for table in document["tables"] if table["id"] == "recomputation"]
    titles = [column["name"] for column in table["columns"]]
    [row] = [row for row in table["rows"] if row[titles.index("Group")] == "Gains"]
    assert [row[titles.index(column)] for column in columns] == expected


def test_a_report_that_is_not_there_is_not_found(reader):
    assert page(reader, "report-e").status_code == 404


def test_the_results_of_report_a_are_drawn_by_scale_for_both_builds_at_each_ratio(reader):
    figures_by_name = figures(page(reader, SLUGS[0]))
    traces = {trace["name"]: trace for trace in figures_by_name["tps-1"]["data"]}
    assert list(traces) == [
        "9.4.4, including", "9.4.4, excluding", "9.5 Beta 1, including", "9.5 Beta 1, excluding",
    ]  # fmt: skip
    assert traces["9.4.4, including"]["x"] == ["100", "300", "1,000", "3,000"]
    assert traces["9.4.4, including"]["y"] == ["423148", "406589", "379414", "365974"]
    assert traces["9.4.4, including"]["text"] == ["?"] * 4
    assert traces["9.5 Beta 1, excluding"]["text"] == [""] * 4
    at_two_to_one = {trace["name"]: trace for trace in figures_by_name["tps-2"]["data"]}
    assert at_two_to_one["9.5 Beta 1, including"]["y"] == ["614637", "587628", "535254", "460610"]
    assert figures_by_name["tps-1"]["layout"]["yaxis"]["range"] == figures_by_name["tps-2"]["layout"]["yaxis"]["range"]


def test_the_prices_of_report_a_are_drawn_as_printed_with_and_without_subscription(reader):
    alone, with_subscription = figures(page(reader, SLUGS[0]))["price-bars"]["data"]
    assert alone["x"] == ["0.11", "0.08", "0.32", "0.17"]
    assert with_subscription["x"] == ["0.17", "0.13", "2.03", "1.07"]


def test_the_prices_of_report_a_lie_beside_their_names_as_no_phone_has_room_for_these_below(reader):
    figure = figures(page(reader, SLUGS[0]))["price-bars"]
    assert {trace["orientation"] for trace in figure["data"]} == {"h"}
    assert figure["data"][0]["y"][0] == "PostgresPURE 9.4.4<br>S822L"
    assert figure["layout"]["meta"]["bars"] == 4
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"


def test_the_table_of_prices_holds_what_was_divided_and_both_prices(reader):
    rows = tables(page(reader, SLUGS[0]))["Prices in EUR per TPS, as printed and as computed"]
    assert rows[0] == [
        "PostgresPURE 9.4.4, S822L", "38,364", "25,200", "63,564", "365,974", "0.11", "0.1048", "0.17", "0.1737",
    ]  # fmt: skip
    assert rows[2][1:5] == ["61,179", "324,000", "385,179", "190,000"]


def test_the_steps_of_report_c_climb_to_what_they_compound_to_beside_what_is_printed(reader):
    climbing, compounded, printed = figures(page(reader, SLUGS[2]))["gain-bars"]["data"]
    assert climbing["base"][:3] == ["0.00", "12.00", "14.24"]  # 1.12 x 1.02 = 1.1424
    ends = [Decimal(base) + Decimal(height) for base, height in zip(climbing["base"], climbing["y"], strict=True)]
    assert ends[-1] == Decimal("44.06")
    assert (compounded["y"], printed["y"]) == (["44.1"], ["45"])
    assertContains(page(reader, SLUGS[2]), "which the text does not say")


def test_report_d_draws_prices_and_derived_throughput_on_axes_of_their_own(reader):
    response = page(reader, SLUGS[3])
    figures_by_name = figures(response)
    assert [trace["y"] for trace in figures_by_name["transaction-bars"]["data"]] == [
        ["21.58", "5.26"],
        ["6.27", "1.29"],
    ]
    _, in_memory = figures_by_name["throughput-bars"]["data"]
    assert in_memory["y"] == ["69398", "337305"]
    assert in_memory["error_y"]["array"] == [55.0, 1313.0]  # 69,453 - 69,398 and 338,618 - 337,305
    assert all("derived" in trace["name"] for trace in figures_by_name["throughput-bars"]["data"])
    assertNotContains(response, "EUR")
    rows = tables(response)["Parts list as priced"]
    assert rows[2][2:4] == ["–", "7,495"]
    assert [row[2:4] for row in rows[-2:]] == [["415,482", "435,124"]] * 2


@pytest.mark.parametrize("slug", SLUGS)
def test_no_figure_has_two_units_or_two_currencies(reader, slug):
    units = {
        "tps-1": "TPS at the peak", "tps-2": "TPS at the peak", "price-bars": "EUR per TPS",
        "peak-bars": "TPS at the peak", "share-bars": "per cent of x86", "gain-bars": "throughput gained (%)",
        "transaction-bars": "USD per MQTh", "throughput-bars": "MQTh, derived",
    }  # fmt: skip
    for name, figure in figures(page(reader, slug)).items():
        axis = figure["layout"]["xaxis" if figure["data"][0].get("orientation") == "h" else "yaxis"]
        assert axis["title"]["text"] == units[name]
        assert not [axis for axis in figure["layout"] if axis.startswith("yaxis") and axis != "yaxis"]


def test_plotly_accepts_every_figure_as_valid(reader):
    from plotly.graph_objects import Figure

    all_figures = [figure for slug in SLUGS for figure in figures(page(reader, slug)).values()]
    assert len(all_figures) == 8
    assert all(Figure(figure).data for figure in all_figures)


def test_bars_beside_each_other_differ_by_pattern_and_not_by_colour_alone(reader):
    for slug in SLUGS:
        for figure in figures(page(reader, slug)).values():
            looks = [(trace["meta"]["series"], trace["marker"]["pattern"]["shape"]) for trace in figure["data"]]
            assert len(set(looks)) == len(looks)
            if len(figure["data"]) == 2:
                assert looks[0][1] != looks[1][1]


@pytest.mark.parametrize("slug", SLUGS[1:])
def test_a_chart_that_is_lost_is_named_instead_of_drawn(reader, slug):
    assertContains(page(reader, slug), "The chart is lost")


@pytest.mark.parametrize(("slug", "key"), TABLES)
def test_a_csv_holds_what_the_page_shows_to_the_last_digit(reader, slug, key):
    response = reader.get(f"/published/{slug}/?csv={key}")
    assert response["Content-Disposition"] == f'attachment; filename="{slug}-{key}.csv"'
    heads, *rows = csv.reader(io.StringIO(response.content.decode()))
    assert all(len(row) == len(heads) for row in rows)
    if key != "recomputation":
        [report] = [report for report in reports() if report.about["slug"] == slug]
        page_rows = tables(page(reader, slug))[published_page.all_tables(report)[key].title]
        assert [[cell.replace(",", "") for cell in row] for row in rows] == [
            [cell.replace(",", "").replace("–", "") for cell in row] for row in page_rows
        ]


def test_the_recomputation_as_csv_has_a_row_for_every_check(reader):
    rows = list(csv.DictReader(io.StringIO(reader.get(f"/published/{SLUGS[0]}/?csv=recomputation").content.decode())))
    assert len(rows) == 85
    assert rows[0]["Published value"] == "0.11"
    assert rows[2]["Difference"] == "-0.0020"  # a number below 0 is no formula
    assert (rows[0]["Computed"], rows[0]["Difference"], rows[0]["Verdict"]) == ("0.1048", "0.0052", "rounded up")


def test_a_table_that_is_not_there_is_refused_with_the_names_of_those_that_are(reader):
    response = reader.get(f"/published/{SLUGS[0]}/?csv=nothing")
    assert response.status_code == 404
    assertContains(response, "ask for results, prices, recomputation", status_code=404)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_computed_number_of_a_table_leads_to_how_it_was_computed(reader, slug):
    html = page(reader, slug).content.decode()
    led_to = set(re.findall(r'href="#(check-\d+)"', html))
    assert led_to
    assert led_to <= set(re.findall(r'<tr id="(check-\d+)"', html))


def test_the_navigation_leads_to_the_published_reports(reader):
    assertContains(reader.get("/published/"), '<a href="/published/" aria-current="page">Published</a>')
