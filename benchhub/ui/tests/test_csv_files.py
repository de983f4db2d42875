"""Rows of any values become CSV that keeps every digit and that no spreadsheet takes for formulas."""

from decimal import Decimal

from benchhub.ui.csv_files import csv_text, download, download_rows


def test_numbers_keep_their_digits_and_signs_and_texts_are_no_formulas():
    rows = [("=1+1", -1.5, None), ("plain", Decimal("-1E+3"), True)]
    assert csv_text(("name", "-x", "is_best"), rows) == "name,'-x,is_best\r\n'=1+1,-1.5,\r\nplain,-1000,True\r\n"


def test_a_download_is_saved_under_its_name():
    answer = download("levels.csv", "a\r\n")
    rows = download_rows("levels.csv", ("a",), ())
    assert (rows.headers, rows.content) == (answer.headers, answer.content)
    assert answer["Content-Disposition"] == 'attachment; filename="levels.csv"'
    assert (answer["Content-Type"], answer.content) == ("text/csv; charset=utf-8", b"a\r\n")
