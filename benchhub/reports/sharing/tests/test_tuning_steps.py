"""A published comparison of a tuning series has its steps: the waterfall, the effects, and what each step changes."""

import json

import pytest
from django.http import QueryDict
from django.utils import timezone

from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.sharing.document.comparison import document
from benchhub.reports.testing import key
from benchhub.reports.tuning import testing

pytestmark = pytest.mark.django_db
STEPS = (
    ("memory", {"shared_buffers": "4GB", "ssl_key_file": "/home/ada/key"}),
    ("wal", {"max_wal_size": "16GB"}),
    ("sync", {"synchronous_commit": "off"}),
)


def frozen(experiment):
    rows = experiment.experimentsystem_set.order_by("position")[:3]
    query = QueryDict("&".join(f"curve={key(experiment, row.system)}" for row in rows))
    now = timezone.now()
    return document(Comparison.load(State.read(query), now.date()), "Night", "", now, "1")


def test_the_steps_are_written_down_with_their_picture_effects_and_public_settings(systems):
    series = testing.make_series(systems[0], testing.CUMULATIVE, steps=STEPS)
    written = frozen(series.experiment)
    [section] = [section for section in written["sections"] if section["id"] == "steps"]
    lead, figure, _, table = section["blocks"]
    assert lead["text"].startswith("Best: steps 1 to 2, +12.0% (")
    assert "2. wal" in json.dumps(figure["plotly"]["data"])
    texts = [[cell["text"] for cell in row["cells"]] for row in table["rows"]]
    assert (texts[0][0], texts[0][2]) == ("1. memory", "1.120")
    assert [note["text"] for note in table["rows"][0]["cells"][0]["notes"]] == ["shared_buffers 256MB to 4GB"]
    assert [row[0] for row in texts[1:]] == ["2. wal", "3. sync", "Together"]
    assert "/home/ada/key" not in json.dumps(section)
    assert {"where": "Name of a step", "text": "memory"} in written["typed"]


def test_a_comparison_of_no_series_has_none(experiment):
    assert "steps" not in [section["id"] for section in frozen(experiment)["sections"]]
