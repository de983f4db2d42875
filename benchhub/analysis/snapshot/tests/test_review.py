"""What stands out in a text that was typed freely, and what does not."""

import pytest

from benchhub.analysis.snapshot.review import parts


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Ask mara@example.org.", ["mara@example.org"]),
        ("see https://wiki.example.org/x?y=1 for more", ["https://wiki.example.org/x?y=1"]),
        ("password = hunter2 and PGPASSWORD=x", ["password = hunter2"]),
        ("data in /srv/kiln/pg18", ["/srv/kiln/pg18"]),
        ("on otter.example.org, port 5433", ["otter.example.org"]),
        ("key 0123456789abcdef0123456789abcdef", ["0123456789abcdef0123456789abcdef"]),
        ("PostgreSQL 16.14 or 18.4, run.sql and a.conf, 1.08x, 3 of 4; 60/40 mix, 0.3333333333333333", []),
        ("", []),
    ],
)
def test_what_may_tell_more_than_it_should_is_marked(text, marked):
    assert [part.text for part in parts(text) if part.why] == marked
    assert "".join(part.text for part in parts(text)) == text


def test_a_long_text_is_read_whole():
    text = "a.b/" * 50_000 + "@" * 50_000
    assert "".join(part.text for part in parts(text)) == text


def test_a_bare_number_that_is_a_port_is_marked_and_others_are_not():
    text = "It took 54329 or 154329 ms,\nwith 5432 rows and (54329)."
    assert [part.text for part in parts(text, {"54329"}) if part.why] == ["54329", "54329"]
    assert "".join(part.text for part in parts(text, {"54329"})) == text
    assert not any(part.why for part in parts(text))
