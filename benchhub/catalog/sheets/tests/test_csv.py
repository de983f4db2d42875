from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.asserts import assertContains

from benchhub.catalog.models import Hardware, PriceSheet, PriceSheetDiscount, PriceSheetLine
from benchhub.catalog.sheets import csv as sheets_csv
from benchhub.catalog.sheets import texts
from benchhub.catalog.sheets.rows import check_rows
from benchhub.catalog.sheets.testing import LINES, TOTAL, save, typed
from benchhub.catalog.sheets.texts import DISCOUNT, LINE, SheetTexts
from benchhub.settings import BASE_DIR
from benchhub.ui.row_cells import number, written_names
from benchhub.ui.row_set import RowSet

WORDS = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp", "Zs", "Cf", "Co", "Cn")), max_size=20)
MONEY = st.decimals(-(10**9), 10**9, places=4).map(lambda value: f"{value:f}")
COUNT = st.decimals(0, 10**6, places=4).map(lambda value: f"{value:f}")
FILLED = WORDS.map(lambda text: f"x{text}")
LINE_TEXTS = st.fixed_dictionaries(
    {"description": FILLED, "unit_price": MONEY, "quantity": COUNT, "kind": st.sampled_from(["hardware", "other"])},
    optional={
        "category": WORDS,
        "seller": WORDS,
        "part_number": WORDS,
        "contracted_price": MONEY,
        "spares": st.integers(0, 99).map(str),
        "is_discountable": st.sampled_from(["yes", "no"]),
        "available_on": st.dates().map(str),
        "support": st.sampled_from(["", "unsupported", "bought"]),
    },
)
HEAD = "record,description,quantity,unit_price,kind\n"


def values(texts):
    """Return the values of the rows."""
    tables = [RowSet("lines", "Line", LINE, texts.lines), RowSet("discounts", "Discount", DISCOUNT, texts.discounts)]
    priced = check_rows(*tables)
    assert all(table.is_valid for table in tables), [table.problems for table in tables]
    return priced


def test_the_example_of_the_document_is_read():
    page = (BASE_DIR / "docs" / "price-sheets.md").read_text()
    texts = sheets_csv.read(page.partition("```csv\n")[2].partition("```")[0])
    assert (len(texts.lines), len(texts.discounts), texts.sheet["currency"]) == (6, 1, "EUR")
    assert values(texts)


@given(st.lists(LINE_TEXTS, min_size=1, max_size=4), st.decimals(0, 100, places=6), WORDS)
def test_what_is_written_is_read_again(lines, percent, name):
    discounts = [
        {"description": "all", "percent": f"{percent:f}", "is_on_rest": "yes"},
        {"description": "one", "amount": "5", "of_lines": written_names([lines[0]["description"]])},
    ]
    lines[0]["is_discountable"] = "yes"
    texts = SheetTexts({"name": name, "currency": "EUR", "places": "4"}, lines, discounts)
    again = sheets_csv.read(sheets_csv.write(texts))
    assert values(again) == values(texts)
    assert again.sheet == {key: text for key, text in texts.sheet.items() if text}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "'", "'=x", "''", 'a"b', "a,b", "a;b", "é€", "x'"])
def test_what_a_spreadsheet_would_take_for_a_formula_is_quoted_and_read_as_it_was(text):
    texts = SheetTexts({}, [{"description": text, "unit_price": "-1", "quantity": "1"}], [])
    written = sheets_csv.write(texts)
    assert sheets_csv.read(written).lines[0]["description"] == text
    assert ",-1," in written
    if text[0] in "=+-@":
        assert f"'{text}" in written


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_and_columns_may_stand_in_any_order(delimiter):
    text = "\ufeffunit_price,record,description\n\n5,line,Server\n".replace(",", delimiter)
    [line] = sheets_csv.read(text).lines
    assert (line["description"], line["unit_price"], line["quantity"], line["kind"]) == ("Server", "5", "1", "hardware")


def test_rows_as_they_stand_in_an_offer_are_lines():
    text = "Part number\tDescription\tSeller\tUnit price\tQuantity\nS-1\tServer\t1\t24,870.50\t2\n"
    [line] = sheets_csv.read(text).lines
    assert [line[name] for name in ("part_number", "description", "seller")] == ["S-1", "Server", "1"]
    rows = RowSet("lines", "Line", LINE, [line])
    assert (rows.rows[0].values["unit_price"], rows.rows[0].values["quantity"]) == (Decimal("24870.50"), 2)


@pytest.mark.parametrize(
    ("typed", "value"), [("1,234.50", "1234.50"), ("-12,345,678", "-12345678"), ("0.00001234", "0.00001234")]
)
def test_thousands_may_be_grouped_where_a_comma_can_be_nothing_else(typed, value):
    assert number("n", "N", places=8).read(typed) == Decimal(value)


@pytest.mark.parametrize("typed", ["1,234", "0,125.5", "1,23.5", "1.234,50", "12,34,567", ",500.1", "1,234.", "$5"])
def test_a_comma_that_may_be_a_decimal_point_is_refused(typed):
    with pytest.raises(ValueError, match="without separators"):
        number("n", "N").read(typed)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["Line 1: Begin with a line of column names"]),
        ("a,b\n1,2\n", ["Line 1: Begin with a line of column names"]),
        ("record,description,colour\n", ["Line 1, colour: There is no such column."]),
        ("record,description,description\n", ["Line 1, description: The column is there twice."]),
        (HEAD, ["Line 1, record: There is no line in the file"]),
        (HEAD + "lines,Server,1,5,hardware\n", ["Line 2, record: Write sheet, line or discount, not 'lines'."]),
        (
            HEAD + 'line,Server,1,"5,00",hardware\n\nline,,x,5,moon\n',
            [
                "Line 2, unit_price: Write a number with a point and without separators, such as 1234.50. Found: "
                "'5,00'.",
                "Line 4, description: Write something here.",
                "Line 4, quantity: Write a number with a point",
                "Line 4, kind: Write one of: hardware, licence, support, other. Found: 'moon'.",
            ],
        ),
        (HEAD + "line,Server,1,5,00,hardware\n", ["Line 2: It has 6 cells for 5 columns: quote what holds a comma."]),
        (HEAD + 'line,"two\nlines",1,5,hardware\nline,x,1,,hardware\n', ["Line 2, description", "Line 4, unit_price"]),
        (HEAD + 'line,"Server,1,5,hardware\n', ["Line 2: It cannot be read as CSV"]),
        (HEAD + "line,Server,1,0,licence\n", ["Line 2: 'Server' is free: say that it is unsupported"]),
        (HEAD + "line,Server,1,5,hardware\nline,,,,\n", ["Line 3: The line says nothing"]),
        (
            "record,description,percent,unit_price\nline,Server,,5\ndiscount,Off,10,3\n",
            ["Line 3, unit_price: Leave it empty: a discount has no such column."],
        ),
        (
            "record,description,percent,amount,unit_price,category,seller,of_categories,of_sellers\n"
            "line,Server,,,5,Boxes,1,,\nline,Fan,,,5,Parts,2,,\ndiscount,Off,10,3,,,,,\ndiscount,Off,10,,,,,Disks,\n"
            "discount,Off,10,,,,,Boxes,2\n",
            [
                "Line 4: The discount 'Off': write either per cent or an amount.",
                "Line 5, of_categories: No line matches. The lines have: Boxes; Parts.",
                "Line 6: No line is of category Boxes and also of seller 2",
            ],
        ),
        (
            "record,description,unit_price,term_months\nsheet,,,x\nline,Server,5,\n",
            ["Line 2, term_months: Write a whole number"],
        ),
    ],
)
def test_every_wrong_line_is_named_with_its_column_and_what_to_write(text, problems):
    with pytest.raises(sheets_csv.CsvError) as refused:
        sheets_csv.read(text)
    sentences = list(map(str, refused.value.problems))
    assert len(sentences) == len(problems), sentences
    assert all(sentence.startswith(other) for sentence, other in zip(sentences, problems, strict=True)), sentences


def test_a_file_that_is_not_utf8_or_too_large_says_so():
    with pytest.raises(sheets_csv.CsvError, match="Line 2: The file is not UTF-8"):
        sheets_csv.decode(b"record\n\xff")
    with pytest.raises(sheets_csv.CsvError, match="larger than"):
        sheets_csv.decode(b" " * (sheets_csv.LARGEST_BYTES + 1))


def test_the_documentation_names_every_column():
    text = (BASE_DIR / "docs" / "price-sheets.md").read_text()
    missing = [name for name, records, _ in sheets_csv.columns_in_words() if f"| `{name}` | {records} |" not in text]
    assert missing == []


def import_file(client, content, **changes):
    file = SimpleUploadedFile("sheet.csv", content.encode(), "text/csv")
    return client.post(reverse("price-sheet-add"), typed(**changes) | {"import": "1", "file": file})


@pytest.mark.django_db
def test_an_exported_sheet_is_imported_as_it_was(engineer):
    box = Hardware.objects.create(name="Rack", sockets=1, cores_per_socket=4)
    save(engineer, hardware=str(box.pk), remark="two\r\nlines", total_places="0", is_large_quantity="on")
    old = PriceSheet.objects.with_rows().get()
    answer = engineer.get(reverse("price-sheet-csv", args=[old.pk]))
    assert answer["Content-Disposition"] == 'attachment; filename="Box.csv"'
    draft = import_file(engineer, answer.content.decode(), lines=[{}], discounts=[], name="Copy").context["draft"]
    assert draft.total.total == Decimal(2217)  # 2,217.40 to whole units
    sent = {f"lines-{row.number}-{name}": text for row in draft.lines.rows for name, text in row.texts.items()}
    sent |= {f"discounts-{row.number}-{name}": t for row in draft.discounts.rows for name, t in row.texts.items()}
    sent |= {field.name: "on" if field.value() is True else field.value() or "" for field in draft.form}
    engineer.post(reverse("price-sheet-add"), {**sent, "lines-count": 2, "discounts-count": 1, "save": "1"})
    new = PriceSheet.objects.with_rows().get(name="Copy")
    assert rows(new) == rows(old)
    same = [name for name in texts.SHEET_NAMES if name != "name"]
    assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]


def rows(sheet):
    own = ("id", "of_sheet_id")
    parts = [*sheet.lines.all(), *sheet.discounts.all()]
    return [{name: value for name, value in vars(row).items() if name not in ("_state", *own)} for row in parts]


@pytest.mark.django_db
def test_a_file_with_a_fault_changes_nothing_and_loses_nothing(engineer):
    answer = import_file(engineer, HEAD + "line,Fan,1,x,hardware\n")
    assertContains(answer, "Line 2, unit_price")
    draft = answer.context["draft"]
    assert [row.texts["description"] for row in draft.lines.rows] == ["Server", "Disk"]
    assert draft.total.total == TOTAL
    pasted = engineer.post(reverse("price-sheet-add"), typed() | {"import": "1", "pasted": HEAD + "line,Fan,1,x,other"})
    assertContains(pasted, "line,Fan,1,x,other</textarea>")
    assert not PriceSheet.objects.exists()


@pytest.mark.django_db
def test_what_is_read_is_added_to_what_was_typed_or_replaces_it_where_asked(engineer):
    text = HEAD + "line,Fan,1,7,hardware\n"
    shop = {"discounts": []}

    def described(**changes):
        draft = import_file(engineer, text, **changes).context["draft"]
        return [row.texts["description"] for row in draft.lines.rows], draft.form["name"].value()

    assert described() == (["Server", "Disk", "Fan"], "Box")
    assert described(replace="1", **shop) == (["Fan"], "Box")
    assert described(lines=[{}, {"quantity": "1"}], **shop) == (["Fan"], "Box")
    assert not PriceSheet.objects.exists()


@pytest.mark.django_db
def test_hardware_that_is_not_there_is_named(engineer):
    text = "record,description,unit_price,hardware\nsheet,,,Rack\nline,Fan,5,\n"
    assertContains(import_file(engineer, text), "There is no hardware named &#x27;Rack&#x27;")


def test_every_column_of_the_tables_has_a_field():
    own = {"id", "of_sheet", "position"}
    for model, fields in ((PriceSheetLine, LINE), (PriceSheetDiscount, DISCOUNT)):
        assert {field.name for field in model._meta.concrete_fields} - own == {field.name for field in fields}
    assert LINES[1].keys() <= {field.name for field in LINE}


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("description" + "," * 50_000, 2),
        (",".join(f"c{number}" for number in range(5000)), 201),
        ("description\n" + "x\n" * 20_000, 1),
        ("description,record\n" + "x,y\n" * 5000, 201),
    ],
)
def test_a_file_of_endless_columns_or_lines_is_refused_in_few_sentences(text, most):
    with pytest.raises(sheets_csv.CsvError) as refusal:
        sheets_csv.read(text)
    assert 0 < len(refusal.value.problems) <= most
