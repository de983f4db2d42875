"""The note of files that were searched for secrets, when a process is ended while it writes it."""

import json
import os

import pytest

from tests.secret_scan import read_note, write_note

NOTE = {"a" * 64: [["digest", "place"]]}


@pytest.mark.parametrize("content", ["", json.dumps(NOTE)[:40], "null", "\ud800"])
def test_a_note_that_cannot_be_read_counts_as_none(tmp_path, content):
    (tmp_path / "note.json").write_text(content, encoding="utf-8", errors="surrogatepass")
    assert read_note(tmp_path / "note.json") == {} == read_note(tmp_path / "no-such.json")


def test_a_note_is_replaced_by_a_whole_one_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "cache" / "note.json"
    write_note(path, {})
    os.link(path, tmp_path / "before")
    write_note(path, NOTE)
    assert read_note(path) == NOTE and list(path.parent.iterdir()) == [path]
    assert read_note(tmp_path / "before") == {}, "the file of before was written into"
    assert (tmp_path / "before").read_text() == "{}"
