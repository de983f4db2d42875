"""A note stands at each published price that rests on a list price which was taken back, and at no other."""

from datetime import date

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.citations import frozen_prices, list_prices
from benchhub.analysis.snapshot.projection import project
from benchhub.analysis.snapshot.taken_back import TakenBack, marked

WRONG = TakenBack(7, date(2026, 2, 3))
OTHER = TakenBack(8, date(2026, 2, 5))


def document(steps=("5,000 EUR (list price 7, A quote)", "1,800 EUR (list price 8, A list)")):
    cells = [nodes.cell(f"{place}.00", steps=[step], steps_about=("vendor",)) for place, step in enumerate(steps)]
    table = nodes.table("price-table", "Prices", [nodes.column("Price")], [nodes.row([cell]) for cell in cells])
    columns = [nodes.data_column("price"), nodes.data_column("derivation", about=("vendor",))]
    return {
        "title": "16 or 18",
        "sections": [nodes.section("prices", "Prices", [nodes.paragraph("Lead."), table])],
        "tables": [
            nodes.data("prices", "Prices", columns, [[f"{place}.00", step] for place, step in enumerate(steps)]),
            nodes.data("levels", "Levels", [nodes.data_column("clients")], [["8"]]),
        ],
    }


def cells(node):
    return [row["cells"][0] for row in node["sections"][0]["blocks"][1]["rows"]]


def test_only_the_price_that_cites_it_is_marked_and_no_number_changes():
    before, after = document(), marked(document(), [WRONG])
    assert [cell.get("notes", []) for cell in cells(after)] == [
        [{"text": "rests on a list price that was taken back 2026-02-03", "role": "flag"}],
        [],
    ]
    assert [cell["text"] for cell in cells(after)] == [cell["text"] for cell in cells(before)]
    prices, levels = after["tables"]
    assert [column["name"] for column in prices["columns"]] == ["price", "derivation", "list_price_taken_back"]
    assert [(row[0], row[2]) for row in prices["rows"]] == [("0.00", "2026-02-03"), ("1.00", "")]
    assert levels == before["tables"][1]
    assert after["taken_back"] == (
        "A list price behind these prices was taken back as wrong after this was published (2026-02-03). The numbers "
        "are as they were published; a mark stands at each that rests on it."
    )


def test_the_sentence_is_of_those_alone_on_which_a_price_of_this_document_rests():
    assert marked(document(), [WRONG, TakenBack(9, date(2026, 2, 7))]) == marked(document(), [WRONG])


def test_a_price_that_rests_on_two_of_them_names_both_days():
    (cell,) = cells(marked(document(["list price 7 and list price 8"]), [WRONG, OTHER]))
    assert cell["notes"][0]["text"] == "rests on list prices that were taken back 2026-02-03 and 2026-02-05"


def test_a_document_that_cites_none_of_them_stays_itself():
    node = document(["list price 77", "no list price"])
    assert marked(node, [WRONG]) is node
    assert marked(node, []) is node


def test_marks_outlast_a_projection_that_hides_how_prices_came_about():
    hidden = project(marked(document(), [WRONG]), ["vendor"])
    first, second = cells(hidden)
    assert "steps" not in first
    assert first["notes"][0]["text"].startswith("rests on a list price")
    assert "notes" not in second
    assert [column["name"] for column in hidden["tables"][0]["columns"]] == ["price", "list_price_taken_back"]
    assert hidden["taken_back"].startswith("A list price")
    assert "taken_back" not in project(document(), ["vendor"])


def test_prices_are_cited_by_the_numbers_that_were_frozen():
    frozen = {"pricing": {"prices": [{"id": 7}, {"id": 9}]}}
    assert list_prices({**document(), "source": frozen}) == {7}
    assert list_prices(document()) == {7, 8}
    assert list_prices({"kind": "published"}) == frozenset()


def test_a_choice_of_readers_may_rest_on_each_price_that_was_frozen():
    frozen = {"pricing": {"prices": [{"id": 7}, {"id": 9}]}}
    assert frozen_prices({**document(), "source": frozen}) == {7, 9}
    assert frozen_prices(document()) == {7, 8}
