from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runners import tools
from runners.tools.tatp.command import reads_every, told_at_once
from runners.tools.tatp.log import LOOKED_AT
from runners.tools.tatp.parameters import MIXES, TRANSACTIONS, check, read
from runners.tools.tatp.scripts import scripts
from runners.tools.tatp.testing import SPEC

TATP = tools.get("tatp")


def test_every_named_mix_has_seven_weights_that_make_a_hundred() -> None:
    assert {name: sum(weights) for name, weights in MIXES.items()} == dict.fromkeys(MIXES, 100)
    assert dict(zip(TRANSACTIONS, read({}).weighed, strict=True))["UPDATE_LOCATION"] == 14
    assert sum(read({"mix": "R100"}).weighed[3:]) == 0


def test_a_custom_mix_weighs_what_it_names_and_nothing_else() -> None:
    weights = {"UPDATE_LOCATION": 3, "GET_ACCESS_DATA": 1}
    assert read({"mix": "custom", "weights": weights}).weighed == (0, 0, 1, 0, 3, 0, 0)


def test_however_few_reads_are_looked_at_each_type_has_its_weight_and_sends_the_same() -> None:
    every_read, few_reads = (scripts(read({}), every) for every in (1, 40))
    assert [script.weight for script in every_read] == [*MIXES["80/20"]]
    weights = [script.weight for script in few_reads[: len(TRANSACTIONS)]]
    for looked, transaction in LOOKED_AT.items():
        assert few_reads[looked].weight * 39 == weights[transaction]
        assert sent(few_reads[looked].text) == sent(every_read[transaction].text)
        weights[transaction] += few_reads[looked].weight
    assert weights == [40 * weight for weight in MIXES["80/20"]]
    assert all(sent(script.text) == sent(other.text) for script, other in zip(every_read, few_reads, strict=False))


@pytest.mark.parametrize(("rate", "every"), [(1.0, 1), (0.5, 16), (1 / 4, 32), (1 / 10, 64)])
def test_fewer_reads_are_looked_at_than_are_logged(rate: float, every: int) -> None:
    assert reads_every(replace(SPEC, log_sampling_rate=rate)) == every


@pytest.mark.parametrize(
    ("expected_tps", "rate", "every"),
    [
        (5_000, 1.0, 1),
        (5_001, 1.0, 20),  # every transaction is logged, but one read in 5,001 / 250 = 20 is looked at
        (120_000, 1.0, 64),
        (1_000, 0.5, 4),  # a sampled log cannot tell when writes were refused
        (100, 0.5, 2),
    ],
)
def test_how_many_reads_are_looked_at_goes_by_how_fast_the_load_may_be(
    expected_tps: float, rate: float, every: int
) -> None:
    assert reads_every(replace(SPEC, log_sampling_rate=rate, expected_tps=expected_tps)) == every


@pytest.mark.parametrize(
    ("rate", "clients", "mix", "at_once"),
    [
        (1.0, 1, "80/20", 1),  # a slow load has the time to tell each
        (0.1, 8, "80/20", 4),
        (0.1, 360, "80/20", 4),  # 20,000 a second for 60 s, of which 6% are writes: 200 by each client
        (0.1, 361, "80/20", 1),
        (0.1, 1, "R100", 1),
    ],
)
def test_clients_tell_successes_together_where_each_has_many(rate: float, clients: int, mix: str, at_once: int) -> None:
    spec = replace(SPEC, log_sampling_rate=rate, clients=clients)
    assert told_at_once(spec, read({"mix": mix})) == at_once


def sent(script: str) -> list[str]:
    """Statements but for what pgbench does with the answer."""
    lines = [line for line in script.splitlines() if line[0] != "\\"]
    return [line.removesuffix(" \\aset").removesuffix(";") for line in lines]


@pytest.mark.parametrize(
    ("subscribers", "mask"), [(100_000, 65_535), (1_000_000, 65_535), (1_000_001, 1_048_575), (10_000_001, 2_097_151)]
)
def test_the_mask_of_the_keys_follows_the_number_of_subscribers(subscribers: int, mask: int) -> None:
    assert read({"subscribers": subscribers}).or_mask == mask


def test_the_recipe_of_a_data_set_leaves_out_defaults_and_the_load() -> None:
    assert TATP.data_set({"mix": "W100"}) == {"tool": "tatp", "subscribers": 100_000}
    other = {"subscribers": 2_000_000, "seed": 5, "population": "original-tool", "keys": "uniform"}
    assert TATP.data_set(other) == {k: v for k, v in other.items() if k != "keys"} | {"tool": "tatp"}


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"scale": 1}, "TATP has no parameter 'scale'"),
        ({"subscribers": 10}, "subscribers must be a whole number from 1,000"),
        ({"subscribers": True}, "subscribers must be a whole number"),
        ({"mix": "9010"}, "'9010' is no mix of TATP; choose one of: 80/20"),
        ({"weights": {}}, 'Weights go with the mix "custom"'),
        ({"mix": "custom"}, 'Weights go with the mix "custom"'),
        ({"mix": "custom", "weights": {"UPDATE_LOCATION": 0}}, "at least one transaction with a weight above 0"),
        ({"mix": "custom", "weights": {"NEW_ORDER": 1}}, "no transaction 'NEW_ORDER'"),
    ],
)
def test_what_is_no_workload_is_refused_in_a_sentence(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TATP.data_set(parameters)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tool_version": "12.22"}, "TATP needs pgbench 13 or newer; 12.22 cannot tell"),
        ({"log_sampling_rate": 0.0}, "TATP needs its log"),
        ({"threads": 2}, "threads must be between 1 and the clients"),
        ({"clients": 100_000}, "1 to 99,999 clients"),
    ],
)
def test_a_run_that_cannot_be_is_refused_in_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TATP.check(replace(SPEC, **changes))


def test_pgbench_13_is_new_enough() -> None:
    assert check(replace(SPEC, tool_version="pgbench (PostgreSQL) 13.0")).subscribers == 100_000
