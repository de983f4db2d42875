"""Claims of the summary of the pgbench that ran TATP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.contract import Outputs, RunSpec
from runners.tools.pgbench.testing import RECORDED
from runners.tools.tatp.command import reads_every, told_at_once
from runners.tools.tatp.parameters import read
from runners.tools.tatp.scripts import scripts
from runners.tools.tatp.testing import SPEC, TATP

RUN = replace(SPEC, tool_version="16.14", clients=4, threads=2, duration_s=6, warmup_s=2)


def summary(spec: RunSpec) -> str:
    """Return what pgbench prints of such a run, as far as it claims anything."""
    parameters = read(spec.parameters)
    lines = [
        "pgbench (16.14)", "transaction type: multiple scripts", "scaling factor: 1", "query mode: prepared",
        f"number of clients: {spec.clients}", f"number of threads: {spec.threads}", "maximum number of tries: 1",
        f"duration: {spec.warmup_s + spec.duration_s} s",
    ]  # fmt: skip
    for number, script in enumerate(scripts(parameters, reads_every(spec), told_at_once(spec, parameters))):
        lines += [
            f"SQL script {number + 1}: script_{number}.sql",
            f" - weight: {script.weight} (targets 1.0% of total)",
        ]
    return "\n".join(lines)


def contradicted(spec: RunSpec, text: str) -> list[str]:
    outputs = Outputs(0, text.encode(), b"")
    return [claim.code for claim in TATP.contradictions(spec, outputs, server_version="16.14")]


@pytest.mark.parametrize("mix", ["80/20", "R100", "5050", "2080", "W100"])
@pytest.mark.parametrize("rate", [1.0, 0.5, 0.01])
def test_the_scripts_make_the_mix_whether_or_not_reads_have_two(mix: str, rate: float) -> None:
    spec = replace(RUN, parameters={"subscribers": 100_000, "mix": mix}, log_sampling_rate=rate)
    assert contradicted(spec, summary(spec)) == []
    other = "W100" if mix == "80/20" else "80/20"
    assert contradicted(replace(spec, parameters={"subscribers": 100_000, "mix": other}), summary(spec)) == ["mix"]


def test_weights_of_one_s_own_are_compared_as_shares() -> None:
    weights = {"GET_SUBSCRIBER_DATA": 30, "UPDATE_LOCATION": 10}
    spec = replace(RUN, parameters={"subscribers": 100_000, "mix": "custom", "weights": weights})
    assert contradicted(spec, summary(spec)) == []
    alike = {"GET_SUBSCRIBER_DATA": 3, "UPDATE_LOCATION": 1}
    parameters = {**spec.parameters, "weights": alike}
    assert contradicted(replace(spec, parameters=parameters), summary(spec)) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"clients": 5}, "clients"),
        ({"threads": 3}, "threads"),
        ({"duration_s": 8}, "duration"),
        ({"warmup_s": 0}, "duration"),
        ({"tool_version": "16.13"}, "client-version"),
    ],
)
def test_another_level_or_program_is_contradicted(changes: dict[str, object], code: str) -> None:
    assert contradicted(replace(RUN, **changes), summary(RUN)) == [code]  # type: ignore[arg-type]


def test_another_load_is_contradicted_and_nothing_claims_nothing() -> None:
    text = summary(RUN).replace("multiple scripts", "<builtin: select only>").replace("prepared", "simple")
    assert contradicted(RUN, text) == ["query-mode", "mix"]
    assert contradicted(RUN, "") == []


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, []),
        ({"duration_s": 7}, []),
        ({"duration_s": 60}, ["duration"]),
        ({"warmup_s": 60}, ["duration"]),
        ({"clients": 5}, []),
        ({"clients": 8}, ["clients"]),
        ({"clients": 2}, ["clients"]),
    ],
)
def test_without_a_summary_the_seconds_claim_how_long_and_by_about_how_many(
    changes: dict[str, int], codes: list[str]
) -> None:
    folder = RECORDED / "tatp-16"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    outputs = Outputs(0, b"", b"", files)
    assert [claim.code for claim in TATP.contradictions(replace(RUN, **changes), outputs)] == codes


# 4 clients that are busy for 8 s, warm-up and all; then each waits for 10 s, and ends with its transaction.
STEADY = "".join(f"progress: {at_s}.0 s, 400.0 tps, lat 10.000 ms stddev 1.000, 0 failed\n" for at_s in range(1, 8))
ENDLESS = "".join(f"progress: {at_s}.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed\n" for at_s in range(8, 20))
TWICE = f"{STEADY}progress: 11.9 s, 0.1 tps, lat 10.000 ms stddev 1.000, 0 failed\n"
TWICE += "progress: 12.0 s, 80.0 tps, lat 4900.000 ms stddev 1.000, 0 failed\n"
LATE = f"{STEADY}progress: 12.3 s, 70.0 tps, lat 10.000 ms stddev 1.000, 0 failed\n"
STALLED = f"{STEADY}progress: 18.0 s, 0.4 tps, lat 10000.000 ms stddev 0.000, 0 failed\n"


EVERY_2_S, EVERY_5_S = (
    "".join(f"progress: {at_s}.0 s, 400.0 tps, lat 10.000 ms stddev 1.000, 0 failed\n" for at_s in range(s, 21, s))
    for s in (2, 5)
)
UNEVEN = "".join(f"progress: {at_s} s, 100.0 tps, lat 10.000 ms stddev 1.000\n" for at_s in (3.2, 8.1, 12.4, 20.0))


@pytest.mark.parametrize(
    ("progress", "duration_s", "clients", "expected"),
    [
        (STEADY, 6, 4, []),
        (STALLED, 6, 4, []),  # 2,800 x 10 ms and 4 x 10 s in 18 s: 3.8 clients
        (STALLED, 6, 9, ["clients"]),
        (STEADY, 2, 4, ["duration"]),  # 400 ended more than 2 s after 4 s
        (STEADY, 20, 4, ["duration"]),
        (STEADY + ENDLESS, 6, 4, []),  # 2,800 x 10 ms in 19 s are 1.5 clients, but in a second at work 4
        (STEADY + ENDLESS, 6, 9, ["clients"]),
        (LATE, 5, 4, []),  # 371 ended in 5.3 s, of which nobody knows how many before the end
        (LATE, 2, 4, ["duration"]),
        (EVERY_2_S, 18, 4, []),
        (EVERY_2_S, 18, 9, ["clients"]),
        (EVERY_2_S, 18, 2, ["clients"]),
        (EVERY_5_S, 18, 4, []),
        (EVERY_5_S, 18, 1_000, ["clients"]),
        (UNEVEN, 18, 4, []),  # the machine stood still again and again: nobody knows how many were busy otherwise
        (TWICE, 10, 4, []),  # 4 of 4.9 s in 0.05 s, which is printed as 0.1
    ],
)
def test_seconds_alone_tell_duration_and_clients_also_where_the_last_were_waited_for(
    progress: str, duration_s: int, clients: int, expected: list[str]
) -> None:
    spec = replace(RUN, duration_s=duration_s, clients=clients)
    outputs = Outputs(0, b"", b"", {"tatp.progress": progress.encode()})
    assert [claim.code for claim in TATP.contradictions(spec, outputs)] == expected
