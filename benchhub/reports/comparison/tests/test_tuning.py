import json
import re

import pytest
from django.urls import reverse
from django.utils.html import strip_tags
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testing
from benchhub.bench.models import Protocol
from benchhub.catalog.models import Hardware
from benchhub.reports.curves.outcomes import GREY
from benchhub.reports.testing import key, rows_of, variant

pytestmark = pytest.mark.django_db
STEPS_QUERIES = 6  # session, user, curves, levels, runs, latencies


@pytest.fixture
def tuned(systems):
    """A baseline of 1,000 TPS at 8 clients and three steps: +12%, -2%, +6%, each on the one before."""
    chain = [systems[0]]
    for number, setting in enumerate(("shared_buffers", "autovacuum", "huge_pages"), start=1):
        description = {"settings": {setting: "on"}}
        chain.append(variant(systems[0], label=f"Step {number}", description=description))
    experiment = testing.make_experiment(chain, name="Tuning")
    for system, tps in zip(chain, (1000.0, 1120.0, 1097.6, 1163.456), strict=True):
        for repeat, percent in enumerate((-0.2, 0.0, 0.2), start=1):
            testing.succeeded(testing.make_run(experiment, system, 8, repeat), tps * (1 + percent / 100))
    return experiment, chain


def page(tuned, **parameters):
    experiment, chain = tuned
    query = "&".join(
        [
            *(f"curve={key(experiment, system)}" for system in chain),
            *(f"{name}={value}" for name, value in parameters.items()),
        ]
    )
    return f"{reverse('tuning-steps')}?{query}"


def test_each_step_is_shown_with_its_effect_and_what_it_changed(reader, tuned):
    rows = rows_of(reader.get(page(tuned, csv="steps")))
    assert [float(row["effect"]) for row in rows] == pytest.approx([1.12, 0.98, 1.06], rel=1e-4)
    assert [row["verdict"] for row in rows] == ["more", "less", "more"]
    assert rows[0]["changed"] == "shared_buffers on, not set before"
    text = " ".join(strip_tags(reader.get(page(tuned)).content.decode()).split())
    assert "shared_buffers: on, not set before" in text and "not set to" not in text
    assert float(rows[-1]["running"]) == pytest.approx(1.163456, rel=1e-4)


def test_a_step_to_another_machine_names_it_and_a_long_digest_is_cut(reader, systems):
    other = Hardware.objects.create(name="Larger box", sockets=4, cores_per_socket=8)
    form = {"build": {"binary": "a" * 64}}
    chain = [systems[0], variant(systems[0], label="Moved", hardware_id=other.pk, description=form)]
    experiment = testing.make_experiment(chain, name="Moving")
    for system in chain:
        for repeat, tps in enumerate((1000.0, 1010.0, 990.0), start=1):
            testing.succeeded(testing.make_run(experiment, system, 8, repeat), tps)
    response = reader.get(page((experiment, chain)))
    assertContains(response, "machine: Box to Larger box")
    assertContains(response, f'<span title="{"a" * 64}">{"a" * 19}…</span>')
    [row] = rows_of(reader.get(page((experiment, chain), csv="steps")))
    assert row["changed"].startswith("machine Box to Larger box; build binary ")


def test_the_total_is_said_first_and_the_waterfall_ends_at_it(reader, tuned):
    response = reader.get(page(tuned))
    assertContains(response, "The 3 steps together give 1.16x the throughput of PostgreSQL 16, between 1.16 and 1.17.")
    match = re.search(r'id="figure-steps" type="application/json">(.*?)</script>', response.content.decode())
    figure = json.loads(match[1])
    ends, gains, losses = figure["data"]
    assert ends["y"] == pytest.approx([100, 116.3456], rel=1e-4)
    assert gains["base"] == pytest.approx([100, 109.76], rel=1e-4)
    assert (losses["base"], losses["y"]) == (pytest.approx([112.0]), pytest.approx([-2.24], rel=1e-3))


def test_steps_made_one_at_a_time_are_compounded_but_called_not_measured(reader, tuned):
    response = reader.get(page(tuned, way="one-at-a-time"))
    assertContains(response, "would give 1.43x")  # 1.12 x 1.0976 x 1.163456 = 1.4302
    assertContains(response, "Together, not measured")


def test_a_level_that_was_not_run_is_refused_in_words(reader, tuned):
    assertContains(reader.get(page(tuned, clients=99)), "There is no run at 99 clients that all of these systems have")


def test_two_repeats_make_no_series(reader, experiment, systems):
    response = reader.get(page((experiment, systems)))
    assertContains(response, "No level has 3 repeats of every system")
    assertNotContains(response, "figure-steps")


def test_different_protocols_make_no_series(reader, tuned, systems):
    longer = testing.make_experiment(systems, name="Longer")
    protocol = Protocol.stored({"path": "socket", "duration_s": 300})
    testing.succeeded(testing.make_run(longer, systems[1], 8, 1, protocol=protocol), 1.0)
    response = reader.get(f"{page(tuned)}&curve={key(longer, systems[1])}")
    assertContains(response, "different protocols or in different units")


def test_without_curves_one_is_led_to_choose_them(reader):
    assertRedirects(reader.get(reverse("tuning-steps")), "/compare/")


def test_the_queries_do_not_grow_with_the_steps(reader, tuned, django_assert_num_queries):
    with django_assert_num_queries(STEPS_QUERIES):
        reader.get(page(tuned))


def test_a_comparison_leads_to_its_curves_as_steps(reader, tuned):
    experiment, chain = tuned
    query = "&".join(f"curve={key(experiment, system)}" for system in chain)
    response = reader.get(f"/compare/?{query}")
    assertContains(response, f'href="/compare/steps/?{query.replace("&", "&amp;")}"')


def test_an_address_whose_curves_are_not_there_says_so(reader, tuned):
    response = reader.get(f"{reverse('tuning-steps')}?curve=999999-1&curve=nonsense")
    assertContains(response, "None of the curves that this address names is here: 999999-1, nonsense.", status_code=404)


def test_a_step_that_is_not_there_is_not_left_out_in_silence(reader, tuned):
    response = reader.get(page(tuned, curve="999999-1"))
    assertContains(response, "There is no curve 999999-1.")
    assertContains(response, "The 3 steps together")


def test_a_step_whose_gain_nothing_proves_is_not_drawn_as_a_gain(reader, systems):
    chain = [systems[0], variant(systems[0], label="Lucky", description={"settings": {"jit": "off"}})]
    experiment = testing.make_experiment(chain, name="Noise")
    for system, repeats in zip(chain, ((1000.0, 1200.0, 800.0), (1100.0, 1300.0, 900.0)), strict=True):
        for repeat, tps in enumerate(repeats, start=1):
            testing.succeeded(testing.make_run(experiment, system, 8, repeat), tps)
    response = reader.get(page((experiment, chain)))
    match = re.search(r'id="figure-steps" type="application/json">(.*?)</script>', response.content.decode())
    _, step = json.loads(match[1])["data"]
    assert (step["name"], step["meta"]["series"]) == ("not distinguishable", GREY)
    assert step["y"][0] > 0
