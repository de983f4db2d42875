import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.doubts.log_text import readable, whole_characters


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"progress: 1.0 s\n\ttabbed\n", "progress: 1.0 s\n\ttabbed\n"),
        (b"\x1b[31mred\x1b[0m\x1b]0;title\x07", "␛[31mred␛[0m␛]0;title␇"),
        (b"NUL \x00 and DEL \x7f", "NUL ␀ and DEL ␡"),
        (b"10 %\r20 %\r\ndone", "10 %\n20 %\ndone"),
        (b"bad \xff\xfe bytes", "bad �� bytes"),
        ("C1 \x9b31m".encode(), "C1 <U+009B>31m"),
        ("abc\u202egnp.exe".encode(), "abc<U+202E>gnp.exe"),
        ("Grüße, 18 µs".encode(), "Grüße, 18 µs"),
    ],
)
def test_nothing_in_a_log_acts_and_everything_is_seen(content, text):
    assert readable(content) == text


@pytest.mark.parametrize(
    ("content", "length"),
    [
        (b"", 0),
        (b"abc", 3),
        ("aß".encode(), 3),
        ("aß".encode()[:-1], 1),
        ("a€".encode()[:-1], 1),
        ("a🐘".encode()[:-3], 1),
        (b"a\xff", 1),
        (b"\x80\x80\x80\x80\x80", 5),
    ],
)
def test_a_character_cut_at_the_end_is_left_for_the_next_look(content, length):
    assert whole_characters(content) == length


@given(st.text(), st.integers(0, 40))
def test_text_read_in_two_looks_is_the_text_read_in_one(text, cut):
    content = text.replace("\r", "").encode()
    head = content[: whole_characters(content[:cut])] if cut else b""
    assert readable(head) + readable(content[len(head) :]) == readable(content)


@given(st.binary())
def test_no_control_character_is_left(content):
    assert {unicodedata.category(character) for character in readable(content) if character not in "\n\t"} & {
        "Cc",
        "Cf",
    } == set()
