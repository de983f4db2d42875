"""Attacks at the page that takes what somebody pasted: endless rates, and durations that no calendar has."""

import pytest
from django import forms
from django.urls import reverse

from benchhub.bench.models import Run

from .test_paste import COUNTED, EIGHT, fields, runner  # noqa: F401  # fixtures

pytestmark = pytest.mark.django_db


def test_rates_without_end_are_refused_before_any_is_read(runner, fields, monkeypatch):  # noqa: F811
    cleaned = []
    clean = forms.IntegerField.clean
    monkeypatch.setattr(forms.IntegerField, "clean", lambda self, value: cleaned.append(value) or clean(self, value))
    answer = runner.post(reverse("results-import"), {**fields, "rate_tps": "1 " * 100_000})
    assert "at most 5000 characters" in answer.content.decode()
    assert len(cleaned) < 1_000


@pytest.mark.parametrize("tps", ["0.000001", "0.000000", f"0.{'0' * 322}5"])
def test_a_duration_that_no_calendar_has_is_refused_with_a_sentence(runner, fields, tps):  # noqa: F811
    text = COUNTED.replace("150000", "9" * 17).replace("1200000/1200000", f"{'9' * 17}/{'9' * 17}")
    text = text.replace("tps = 20004.000000", f"tps = {tps}")
    both = text + text.replace("latency", "latency ")
    for pasted in (text, text + text, both, text + EIGHT):
        answer = runner.post(reverse("results-import"), {**fields, "text": pasted, "measured_at": ""})
        assert answer.status_code == 200
        assert not Run.objects.exists()
