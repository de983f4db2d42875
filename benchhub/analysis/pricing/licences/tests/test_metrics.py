"""The registry of metrics: what each says of itself, and that nothing else knows them one by one."""

from pathlib import Path

import pytest

from benchhub.analysis.pricing.licences.metrics import METRICS
from benchhub.analysis.pricing.licences.rules import CHOICES, UNDER_METRIC, LicenceRules, defaults
from benchhub.analysis.pricing.licences.words import price_of, words

ROOT = Path(__file__).resolve().parents[5]
NEWEST = "vm_core"


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_label_words_and_rules_that_there_are(name):
    metric = METRICS[name]
    assert metric.name == name and metric.label
    assert set(metric.rules) <= defaults().keys()
    rules = LicenceRules(name)
    assert words(rules).endswith(".")
    assert metric.singular in price_of(rules) or name == "none"


def test_the_choices_and_the_conditions_of_rules_come_from_the_registry():
    assert CHOICES["metric"] == tuple(METRICS)
    assert UNDER_METRIC["vcpus_per_licence_smt"] == ("vcpu",)
    assert set(UNDER_METRIC["minimum_per_vm"]) == {"vcpu", "vm_core", "memory"}
    assert "none" not in {name for names in UNDER_METRIC.values() for name in names}


def test_a_metric_is_known_to_its_module_and_its_line_in_the_registry_alone():
    """The newest metric stands for the next one: adding it touched no form, table, word or migration."""
    paths = [
        *(ROOT / "benchhub").rglob("*.py"),
        *(ROOT / "frontend").rglob("*.html"),
        *(ROOT / "frontend").rglob("*.js"),
    ]
    places = {
        path.relative_to(ROOT / "benchhub/analysis/pricing/licences").as_posix()
        for path in paths
        if "tests" not in path.parts and NEWEST in path.read_text(encoding="utf-8").lower()
    }
    assert places == {"metrics/__init__.py", f"metrics/{NEWEST}.py"}


def test_the_sentences_of_the_smaller_of_two_name_both():
    assert price_of(LicenceRules(NEWEST)) == "one vCPU or host core, whichever are fewer, for a year"
    assert words(LicenceRules(NEWEST)).startswith("Per vCPU or host core, whichever are fewer.")
