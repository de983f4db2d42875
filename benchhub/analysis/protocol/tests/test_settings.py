import pytest

from benchhub.analysis.protocol.settings import in_unit_asked, readable, readable_text, same_setting, seconds


@pytest.mark.parametrize(
    ("configured", "actual", "unit"),
    [
        ("256MB", "32768", "8kB"),  # 256 x 1024 x 1024 / 8192
        ("32768", "32768", "8kB"),
        ("1GB", "1024", "MB"),
        ("30min", "1800", "s"),
        ("5min", "300", "s"),
        ("200ms", "200", "ms"),
        ("on", "on", None),
        ("true", "on", None),
        ("OFF", "off", None),
        ("0.9", "0.9", None),
        ("0.90", "0.9", None),
        ("100", "100", None),
        ("-1", "-1", "8kB"),
        ("replica", "replica", None),
    ],
)
def test_the_same_setting_is_recognised_in_other_words(configured, actual, unit):
    assert same_setting(configured, actual, unit)


@pytest.mark.parametrize(
    ("configured", "actual", "unit"),
    [
        ("256MB", "16384", "8kB"),
        ("256", "32768", "8kB"),
        ("on", "off", None),
        ("1", "10", None),
        ("replica", "logical", None),
        ("1 parsec", "1", "s"),
        ("local", "on", None),
    ],
)
def test_another_setting_is_not_taken_for_the_same(configured, actual, unit):
    assert not same_setting(configured, actual, unit)


@pytest.mark.parametrize(
    ("configured", "actual", "unit", "text"),
    [
        ("256MB", "32768", "8kB", "256MB"),  # 32,768 x 8 kB = 262,144 kB
        ("256MB", "16384", "8kB", "128MB"),
        ("1GB", "196608", "8kB", "1.5GB"),
        ("5min", "90", "s", "1.5min"),
        ("32768", "16384", "8kB", "16384 8kB"),
        ("16MB", "-1", "8kB", "-1 8kB"),
        ("1min", "100", "s", "100 s"),  # 1.666... min would not be exact
        ("on", "off", None, "off"),
        ("256MB", "not found", None, "not found"),
    ],
)
def test_a_setting_found_is_written_in_the_unit_asked(configured, actual, unit, text):
    assert in_unit_asked(configured, actual, unit) == text


def test_a_time_is_read_in_seconds_and_what_is_none_is_not():
    assert [seconds(text) for text in ("30min", "300", "1h", "1500ms")] == [1800, 300, 3600, 1]
    assert [seconds(text) for text in ("", "soon", "5 parsecs")] == [None, None, None]


@pytest.mark.parametrize(
    ("setting", "unit", "text"),
    [
        ("16384", "8kB", "128 MB"),
        ("131072", "8kB", "1 GB"),
        ("1", "8kB", "8 kB"),
        ("4096", "kB", "4 MB"),
        ("300", "s", "5 min"),
        ("90", "s", "90 s"),
        ("200", "ms", "200 ms"),
        ("86400", "s", "1 d"),
        ("0", "kB", "0"),
        ("-1", "kB", "-1"),
        ("on", "", "on"),
        ("0.9", "", "0.9"),
        ("much", "kB", "much kB"),
        ("0.0001", "ms", "0.0001 ms"),
        ("2.5", "ms", "2500 us"),
    ],
)
def test_a_setting_is_written_in_its_largest_whole_unit(setting, unit, text):
    assert readable(setting, unit) == text


@pytest.mark.parametrize("text", ["not found", "pg_catalog, public", "on", "", "1 of 2", "5"])
def test_a_text_that_is_no_number_with_a_unit_stays_as_it_is(text):
    assert readable_text(text) == text
    assert readable_text("16384 8kB") == "128 MB"


# What a server that lies has for a setting and its unit. Each would have been an error, or taken for ever.
HOSTILE = [
    ("16384", "\n"),
    ("16384", "kB\n"),
    ("16384", "9" * 5000 + "kB"),
    ("9" * 18, "999999TB"),
    ("-" + "9" * 18, "999999d"),
    ("\u0661\u0662", "kB"),
]


@pytest.mark.parametrize(("setting", "unit"), HOSTILE)
def test_a_server_that_lies_has_no_setting_that_cannot_be_compared_and_written(setting, unit):
    assert not same_setting("128MB", setting, unit)
    assert in_unit_asked("128MB", setting, unit) == f"{setting} {unit or ''}".strip()
    assert readable(setting, unit or "").startswith(setting[:1])
    assert readable_text(f"{setting} {unit or ''}").startswith(setting[:1])


@pytest.mark.parametrize(
    ("start", "filling", "end", "unit"), [("1", " ", "!", None), ("", "1", "", "kB"), ("1", "\n", "kB", "8kB")]
)
def test_a_server_that_lies_at_length_has_no_setting_that_takes_longer(start, filling, end, unit):
    setting = start + filling * 1_000_000 + end
    assert not same_setting("128MB", setting, unit)
    assert in_unit_asked("128MB", setting, unit) == f"{setting} {unit or ''}".strip()
