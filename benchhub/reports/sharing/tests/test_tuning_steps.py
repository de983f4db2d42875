"""A published comparison of a tuning series has its steps: the waterfall, the effects, and what each step changes."""

import json

import pytest
from django.http import QueryDict
from django.utils import timezone

from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.sharing.document import tuning
from benchhub.reports.sharing.document.comparison import document
from benchhub.reports.testing import key
from benchhub.reports.tuning import testing
from benchhub.reports.tuning.series import Series

pytestmark = pytest.mark.django_db
STEPS = (
    ("memory", {"shared_buffers": "4GB", "ssl_key_file": "/home/ada/key"}),
    ("wal", {"max_wal_size": "16GB"}),
)
THREE = {(): 1000.0, (1,): 1120.0, (1, 2): 1120.1}


def frozen(experiment, curve_count):
    rows = experiment.experimentsystem_set.order_by("position")[:curve_count]
    query = QueryDict("&".join(f"curve={key(experiment, row.system)}" for row in rows))
    now = timezone.now()
    return document(Comparison.load(State.read(query), now.date()), "Night", "", now, "1")


def section_of(written):
    [section] = [section for section in written["sections"] if section["id"] == "steps"]
    return section


def csv_of(written):
    [table] = [table for table in written["tables"] if table["id"] == "steps"]
    return table


def test_the_steps_are_written_down_with_their_picture_effects_and_public_settings(systems):
    series = testing.make_series(systems[0], THREE, steps=STEPS)
    written = frozen(series.experiment, 3)
    section = section_of(written)
    lead, figure, caption, table = section["blocks"]
    assert lead["text"].startswith("Best: steps 1 to 2, +12.0% (")
    assert "2. wal" in json.dumps(figure["plotly"]["data"])
    texts = [[cell["text"] for cell in row["cells"]] for row in table["rows"]]
    assert (texts[0][0], texts[0][2]) == ("1. memory", "1.120")
    assert "shared_buffers 256MB to 4GB" in [note["text"] for note in table["rows"][0]["cells"][0]["notes"]]
    assert [row[0] for row in texts[1:]] == ["2. wal", "Together"]
    assert "not tested" not in caption["text"]
    assert "/home/ada/key" not in json.dumps([section, csv_of(written)])
    assert {"where": "Name of a step", "text": "memory"} in written["typed"]


def test_what_was_set_before_a_step_is_published_by_the_rule_for_what_comes_after(systems):
    before = ("library", {"session_preload_libraries": "/home/ada/lib.so"})
    after = ("memory", {"session_preload_libraries": "auto_explain", "shared_buffers": "4GB"})
    series = testing.make_series(systems[0], THREE, steps=(before, after))
    written = frozen(series.experiment, 3)
    section = json.dumps([section_of(written), csv_of(written)])
    assert "shared_buffers 256MB to 4GB" in section
    assert not any(text in section for text in ("/home/ada", "session_preload_libraries"))


def test_a_setting_is_published_by_the_list_of_its_own_layer_alone(systems):
    """`vm.swappiness` is public of the operating system only, and `work_mem` of the server only."""
    steps = (("names", {"vm.swappiness": "1", "work_mem": "8MB"}),)
    os_steps = {1: {"vm.swappiness": "10", "work_mem": "64"}}
    series = testing.make_series(systems[0], {(): 1000.0, (1,): 1120.0}, steps=steps, os_steps=os_steps)
    [step] = Series.load(series).steps
    assert len(step.changes) == 4
    assert tuning._change_texts(step) == ["work_mem 8MB, not set before", "vm.swappiness 10, not set before"]


def test_the_effects_are_a_table_for_programs_as_well(systems):
    series = testing.make_series(systems[0], THREE, steps=STEPS)
    table = csv_of(frozen(series.experiment, 3))
    heads = [column["name"] for column in table["columns"]]
    rows = [dict(zip(heads, row, strict=True)) for row in table["rows"]]
    assert [(row["what"], row["name"]) for row in rows] == [
        ("step", "memory"), ("step", "wal"), ("total", "all steps together"),
    ]  # fmt: skip
    assert float(rows[0]["effect"]) == pytest.approx(1.12)
    assert rows[0]["changed"].startswith("shared_buffers 256MB to 4GB")


def test_a_comparison_of_some_of_a_series_tells_nothing_of_the_others(systems):
    series = testing.make_series(systems[0], THREE, steps=STEPS)
    written = frozen(series.experiment, 2)
    assert "steps" not in [section["id"] for section in written["sections"]]
    assert "steps" not in [table["id"] for table in written["tables"]]
    assert "wal" not in [typed["text"] for typed in written["typed"]]


def test_the_caption_says_that_two_repeats_are_not_tested(systems):
    series = testing.make_series(systems[0], THREE, steps=STEPS, repeats=(-0.2, 0.2))
    caption = section_of(frozen(series.experiment, 3))["blocks"][2]
    assert caption["text"].endswith(tuning.BELOW_THREE)


def test_a_comparison_of_no_series_has_none(experiment):
    assert "steps" not in [section["id"] for section in frozen(experiment, 3)["sections"]]
