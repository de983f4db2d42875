"""What stands folded on a shared page: long tables and lists without a figure, and never in a report."""

from django.template.loader import render_to_string

from benchhub.analysis.snapshot import nodes
from benchhub.reports.sharing.output.render import MOST_CELLS, DocumentPage

FIGURE = nodes.figure("peaks", "Peaks", "Peaks of two systems", {})


def numbers(cells):
    row = nodes.row([nodes.cell("1")] * cells)
    return nodes.table("numbers", "Numbers", [nodes.column("Number")] * cells, [row])


def folded(*blocks, as_report=False):
    return DocumentPage({"sections": [nodes.section("odd", "Odd", blocks)]}, "", as_report).folded


def test_a_long_section_is_folded_unless_a_figure_shows_it():
    paragraph = nodes.paragraph("A sentence.")
    assert "odd" not in folded(paragraph, numbers(MOST_CELLS - 1))
    assert "odd" in folded(paragraph, numbers(MOST_CELLS))
    assert "odd" in folded(nodes.listing("", ["A sentence."] * (MOST_CELLS + 1)))
    assert "odd" not in folded(FIGURE, paragraph, numbers(MOST_CELLS))


def test_what_its_length_alone_folds_is_printed_and_what_few_ask_for_is_not():
    sections = [nodes.section(name, name, [numbers(MOST_CELLS + 1)]) for name in ("levels", "settings")]
    page = DocumentPage({"sections": sections}, "")
    assert page.long == {"levels"}
    assert {"levels", "settings"} <= page.folded


def test_a_report_folds_nothing():
    assert folded(numbers(MOST_CELLS + 1), as_report=True) == frozenset()


def test_the_reasons_of_findings_are_folded_where_there_are_more_than_two_and_never_in_a_report():
    finding = [nodes.paragraph("18 leads.", "lead", series=1), nodes.paragraph("At the peaks ...", "caption")]
    sections = [nodes.section("found", "What was found", finding * 3)]
    assert DocumentPage({"sections": sections}, "").crowded == {"found"}
    assert DocumentPage({"sections": sections}, "", as_report=True).crowded == set()
    few = [nodes.section("found", "What was found", finding * 2)]
    assert DocumentPage({"sections": few}, "").crowded == set()


def test_a_fold_of_reasons_is_one_curve_s_and_other_captions_stay_in_sight():
    blocks = []
    for series in (1, 2, 3):
        blocks.append(nodes.paragraph(f"{series} leads.", "lead", series=series))
        blocks += [nodes.reason(text, f"System <{series}>", series) for text in ("At the peaks ...", "Over all ...")]
    section = nodes.section("found", "What was found", [*blocks, nodes.paragraph("In sight.", "caption")])
    page = DocumentPage({"sections": [section]}, "")
    html = render_to_string("shared/blocks.html", {"section": section, "page": page})
    assert [f'id="reasons-{series}"' in html for series in (1, 2, 3, 4)] == [True, True, True, False]
    assert '<span class="sr">: System &lt;2&gt;</span>' in html
    assert html.count("<details") == 3
    assert html.rindex("</details>") < html.index("In sight.")
    assert html.count("key key-") == 3  # at what leads, and not at each reason
