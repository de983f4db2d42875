"""What a run at a rate claims of it: how many transactions ended, and what waited."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.tools.pgbench.testing import PGBENCH, SPEC, contradicted, printing, recorded


def test_a_rate_is_held_against_how_many_transactions_ended() -> None:
    spec = replace(SPEC, tool_version="18", clients=1, threads=1, duration_s=3)
    text = recorded("18", "rate_limited").stdout.decode()
    limited: dict[str, object] = {"script": "custom", "scripts": [{"text": "SELECT 1;"}], "latency_limit_ms": 20}
    for rate_tps, is_possible in ((60, True), (50, True), (600, False), (10, False), (0, False)):
        codes = list(contradicted(spec, text, parameters={**limited, "rate_tps": rate_tps}))
        assert codes == ([] if is_possible else ["rate-limit"]), rate_tps
    assert list(contradicted(spec, text, parameters={**limited, "rate_tps": 60, "latency_limit_ms": 30})) == [
        "latency-limit"
    ]


RATED = """\
transaction type: 0.sql
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 1
duration: 60 s
number of transactions actually processed: {transactions}
number of failed transactions: {failed} (0.000%)
latency average = {average} ms
latency stddev = {stddev} ms
rate limit schedule lag: avg 0.100 (max 1.000) ms
initial connection time = 1.000 ms
tps = {tps} (without initial connection time)
"""


@pytest.mark.parametrize(
    ("transactions", "failed", "lasted_s", "average", "stddev", "is_possible"),
    [
        # Due in 60 s at 100 TPS are 6,000. From 50 s on the four clients waited 15 s each: 12 ms on average of 5,000,
        # sqrt(4 / 5,000) x 15,000 = 424 ms of deviation; one alone may have waited 30 s.
        (5_000, 0, 65, 12, 424, True),
        # Nobody waited: 10 ms, and the run ended in time.
        (5_000, 0, 60, 10, 5, False),
        # The load generator itself was stopped from 50 to 65 s, while all clients waited for their time.
        (5_000, 0, 65, 10, 5, True),
        # One that failed was waited for: nothing says how long.
        (5_000, 1, 60.2, 10, 5, True),
        (5_000, 1, 60, 10, 5, False),
    ],
)
def test_a_stall_at_the_end_of_a_run_leaves_transactions_out_of_its_rate(
    transactions: int, failed: int, lasted_s: float, average: float, stddev: float, *, is_possible: bool
) -> None:
    parameters = {"script": "custom", "scripts": [{"text": "SELECT 1;"}], "scale": 1, "rate_tps": 100}
    spec = replace(SPEC, tool_version="16", clients=4, threads=1, duration_s=60, parameters=parameters)
    rate = f"{transactions / lasted_s:.6f}"
    text = RATED.format(transactions=transactions, failed=failed, average=average, stddev=stddev, tps=rate)
    assert list(contradicted(spec, text)) == ([] if is_possible else ["rate-limit"])


@pytest.mark.parametrize(("failed", "is_possible"), [(0, False), (29, True)])
def test_a_planned_number_of_transactions_at_a_rate_waits_for_one_that_fails(failed: int, *, is_possible: bool) -> None:
    parameters = {"script": "custom", "scripts": [{"text": "SELECT 1;"}], "scale": 1, "rate_tps": 15_000}
    spec = replace(SPEC, tool_version="16", clients=4, threads=1, duration_s=0, parameters=parameters)
    text = RATED.format(transactions=4_000 - failed, failed=failed, average=2, stddev=1, tps="232.000000")
    text = text.replace("duration: 60 s\n", "number of transactions per client: 1000\n")
    assert list(contradicted(spec, text)) == ([] if is_possible else ["rate-limit"])


UNEVEN = """pgbench (17.7)
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 3
maximum number of tries: 1
number of transactions per client: 400
number of transactions actually processed: 1600/1600
number of failed transactions: 0 (0.000%)
latency average = 29.396 ms
latency stddev = 67.531 ms
rate limit schedule lag: avg 3.651 (max 12.446) ms
initial connection time = 3.596 ms
tps = 5.466667 (without initial connection time)
"""


@pytest.mark.parametrize(("rate_tps", "codes"), [(8.2, []), (16.4, ["rate-limit"])])
def test_the_thread_that_has_two_of_four_clients_takes_twice_as_long_at_a_third_of_the_rate(
    rate_tps: float, codes: list[str]
) -> None:
    """At 8.2 TPS a thread gets 2.73 of them, so that its 800 transactions take 293 s: 1,600 are 5.47 TPS."""
    parameters = {"script": "select-only", "scale": 1, "rate_tps": rate_tps}
    spec = replace(SPEC, tool_version="17.7", clients=4, threads=3, duration_s=0, parameters=parameters)
    outputs = printing(UNEVEN)
    assert [claim.code for claim in PGBENCH.contradictions(spec, outputs)] == codes


@pytest.mark.parametrize(("printed_ms", "limit_ms"), [("0.0", 0.05), ("0.1", 0.1), ("20.0", 20.0)])
def test_a_latency_limit_that_rounds_to_nothing_is_one_all_the_same(printed_ms: str, limit_ms: float) -> None:
    limited = f"number of transactions above the {printed_ms} ms latency limit: 6000/6000 (100.000%)\nlatency average"
    text = RATED.format(transactions=6_000, failed=0, average=10, stddev=5, tps="100.000000")
    text = text.replace("latency average", limited)
    stated = PGBENCH.stated_rate(printing(text))
    assert stated and stated.latency_limit_ms == limit_ms
    custom = {"script": "custom", "scripts": [{"text": "SELECT 1;"}], "scale": 1, "rate_tps": 100}
    spec = replace(SPEC, tool_version="16", clients=4, threads=1, duration_s=60)
    for planned_ms, codes in ((limit_ms, []), (0, ["latency-limit"])):
        assert list(contradicted(spec, text, parameters={**custom, "latency_limit_ms": planned_ms})) == codes
