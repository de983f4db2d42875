"""Claims of pgbench's texts: what is stated is compared, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.tools import claims
from runners.tools.claims import Version
from runners.tools.pgbench.output import read_summary
from runners.tools.pgbench.testing import PGBENCH, SPEC, contradicted, hand_made, printing, recorded

NEW = """\
pgbench (16.4 (Debian 16.4-1.pgdg120+1), server 15.2 (Debian 15.2-1.pgdg110+1))
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
partition method: hash
partitions: 4
query mode: prepared
number of clients: 8
number of threads: 4
maximum number of tries: 3
duration: 60 s
number of transactions actually processed: 60000
number of failed transactions: 0 (0.000%)
number of transactions retried: 0 (0.000%)
total number of retries: 0
latency average = 8.000 ms
initial connection time = 10.000 ms
tps = 1000.166694 (without initial connection time)
"""
OLD = """\
transaction type: SELECT only
scaling factor: 10
query mode: simple
number of clients: 8
number of threads: 4
duration: 60 s
number of transactions actually processed: 60000
latency average: 8.000 ms
tps = 999.900000 (including connections establishing)
tps = 1000.000000 (excluding connections establishing)
"""
PARAMETERS = {
    "script": "tpcb-like", "scale": 10, "query_mode": "prepared", "max_tries": 3, "partitions": 4,
    "partition_method": "hash",
}  # fmt: skip
NEW_SPEC = replace(SPEC, tool_version="16.4", parameters=PARAMETERS, clients=8, threads=4, duration_s=60)
OLD_SPEC = replace(NEW_SPEC, tool_version="9.5.25", parameters={"script": "select-only", "scale": 10})


def test_a_text_of_the_run_contradicts_nothing() -> None:
    assert contradicted(NEW_SPEC, NEW, server="15.2") == {}
    assert contradicted(OLD_SPEC, OLD, server="9.5.25") == {}


@pytest.mark.parametrize(
    ("changes", "parameters", "sentence"),
    [
        ({"tool_version": "16.5"}, {}, "pgbench 16.4 (Debian 16.4-1.pgdg120+1), not of 16.5."),
        ({"tool_version": "18.1"}, {}, "pgbench 16.4 (Debian 16.4-1.pgdg120+1), not of 18.1."),
        ({"clients": 16}, {}, "8 clients, not of 16."),
        ({"threads": 8}, {}, "4 threads, not of 8."),
        ({"duration_s": 30}, {}, "60 s, not of 30."),
        ({}, {"script": "select-only"}, "the built-in tpcb-like, not of the built-in select-only."),
        (
            {},
            {"script": "custom", "scripts": [{"text": "SELECT 1;"}]},
            "the built-in tpcb-like, not of a custom script.",
        ),
        ({}, {"query_mode": "simple"}, "query mode prepared, not of simple."),
        ({}, {"scale": 100}, "scale 10, not of 100."),
        ({}, {"max_tries": 1}, "3 tries at most, not of 1."),
        ({}, {"partitions": 0}, "4 hash partitions, not of one without partitions."),
        ({}, {"partition_method": "range"}, "4 hash partitions, not of 4 range partitions."),
        ({}, {"connect_each": True}, "one connection for each client, not of one for each transaction."),
        ({}, {"rate_tps": 500}, "a run without a rate (-R), not of one at 500 TPS."),
        ({}, {"latency_limit_ms": 20}, "a run without a latency limit (-L), not of one with 20 ms."),
    ],
)
def test_one_other_fact_is_contradicted_in_its_words(
    changes: dict[str, object], parameters: dict[str, object], sentence: str
) -> None:
    texts = contradicted(replace(NEW_SPEC, **changes), NEW, parameters=parameters).values()  # type: ignore[arg-type]
    assert list(texts) == [f"The output is of {sentence}"]


def test_the_server_is_that_of_the_banner_and_without_one_of_the_program_s_own_version() -> None:
    assert contradicted(NEW_SPEC, NEW, server="16.4") == {
        "server-version": "The output is of a server of PostgreSQL 15.2 (Debian 15.2-1.pgdg110+1), not of 16.4."
    }
    alike = NEW.replace(", server 15.2 (Debian 15.2-1.pgdg110+1)", "")
    assert contradicted(NEW_SPEC, alike, server="16.4") == {}
    assert list(contradicted(NEW_SPEC, alike, server="15.2")) == ["server-version"]
    # Up to 13 no line tells the server.
    assert contradicted(OLD_SPEC, OLD, server="16.4") == {}


@pytest.mark.parametrize(
    ("written", "planned", "is_same"),
    [
        ("16.4 (Debian 16.4-1.pgdg120+1)", "16.4", True),
        ("16.4 (Debian 16.4-1.pgdg120+1)", "16.1", False),
        ("16.4", "16", True),
        ("16.4.1 (EnterpriseDB Advanced Server 16.4.1)", "16.4", True),
        ("18beta1", "18.0", True),
        ("18beta1", "18beta2", False),
        ("18beta1", "18devel", False),
        ("17devel", "17.0", True),
        ("17devel", "16.0", False),
        ("18rc1", "18.1", False),
        ("9.6.24", "9.6", True),
        ("9.6.24", "9.6.3", False),
        ("11.2-YB-2.18.0.0-b0", "11.2", True),
        ("1.0.20 (using bundled LuaJIT 2.1.0-beta2)", "1.0.20", True),
        ("1.0.20", "1.0.18", False),
    ],
)
def test_versions_are_compared_at_the_precision_that_both_have(written: str, planned: str, is_same: bool) -> None:
    claim = claims.of_version(written, written)
    assert claim and claim.agrees(planned) == is_same
    assert claim.agrees("a version of our own")


def test_a_program_before_its_release_runs_against_a_server_of_any_stage_of_it() -> None:
    text = NEW.replace("16.4 (Debian 16.4-1.pgdg120+1), server 15.2 (Debian 15.2-1.pgdg110+1)", "18beta1")
    spec = replace(NEW_SPEC, tool_version="18beta1")
    for server in ("18beta1", "18.0", "18beta2"):
        assert contradicted(spec, text, server=server) == {}
    assert list(contradicted(spec, text, server="17.0")) == ["server-version"]


def test_without_a_banner_the_form_of_the_lines_tells_between_which_versions_it_was_printed() -> None:
    fifteen = "".join(NEW.splitlines(keepends=True)[1:])
    for version, is_possible in (("18.1", True), ("15.0", True), ("14.9", False), ("9.6.1", False)):
        assert bool(contradicted(replace(NEW_SPEC, tool_version=version), fifteen)) != is_possible, version
    [sentence] = contradicted(replace(NEW_SPEC, tool_version="14.9"), fifteen).values()
    assert sentence == "The output is of pgbench 15 or newer, not of 14.9."
    for version, is_possible in (("9.5.25", True), ("9.4.1", True), ("9.6.1", False), ("16.4", False)):
        assert bool(contradicted(replace(OLD_SPEC, tool_version=version), OLD)) != is_possible, version
    thirteen = recorded("13", "plain").stdout.decode()
    spec = replace(SPEC, parameters={"script": "select-only", "scale": 1}, clients=4, threads=2, duration_s=1)
    for version, is_possible in (("13.4", True), ("9.6.1", True), ("9.5.1", False), ("14.1", False)):
        assert bool(contradicted(replace(spec, tool_version=version), thirteen)) != is_possible, version


def test_what_version_prints_before_a_run_names_the_program_and_no_server() -> None:
    spec = replace(OLD_SPEC, tool_version="9.5.24")
    text = f"pgbench (PostgreSQL) 9.5.25\n{OLD}"
    assert list(contradicted(spec, text, server="16.4")) == ["client-version"]


CUSTOM = {"script": "custom", "scripts": [{"text": "SELECT 1;", "weight": 3}, {"text": "SELECT 2;"}], "scale": 1}


def test_custom_scripts_are_told_by_their_number_and_weights() -> None:
    spec = replace(SPEC, tool_version="18", clients=2, threads=2, duration_s=1, parameters=CUSTOM)
    text = recorded("18", "several_scripts").stdout.decode()
    prepared: dict[str, object] = {"query_mode": "prepared"}
    assert contradicted(spec, text, parameters=prepared) == {}
    six_to_two = [{"text": "SELECT 1;", "weight": 6}, {"text": "SELECT 2;", "weight": 2}]
    assert contradicted(spec, text, parameters={**prepared, "scripts": six_to_two}) == {}
    for weights in ((1, 3), (3, 2), (1,), (3, 1, 1)):
        scripts = [{"text": "SELECT 1;", "weight": weight} for weight in weights]
        assert list(contradicted(spec, text, parameters={**prepared, "scripts": scripts})) == ["script"], weights


def test_only_a_run_of_our_own_names_its_files() -> None:
    spec = replace(SPEC, tool_version="18", clients=2, threads=2, duration_s=1, parameters=CUSTOM)
    text = recorded("18", "several_scripts").stdout.decode()
    prepared: dict[str, object] = {"query_mode": "prepared"}
    assert contradicted(spec, text, parameters=prepared, is_own=True) == {
        "script-names": "The output is of the files a.sql, b.sql, not of script_0.sql, script_1.sql."
    }
    ours = text.replace(": a.sql", ": script_0.sql").replace(": b.sql", ": script_1.sql")
    assert contradicted(spec, ours, parameters=prepared, is_own=True) == {}


def test_the_scale_of_custom_scripts_is_what_minus_s_says_and_1_without_it() -> None:
    """pgbench looks for it in the data set only where one of its own scripts runs."""
    spec = replace(SPEC, tool_version="18", clients=2, threads=2, duration_s=1, parameters=CUSTOM)
    text = recorded("18", "several_scripts").stdout.decode()
    wide: dict[str, object] = {"query_mode": "prepared", "scale": 50}
    assert contradicted(spec, text, parameters=wide) == {}
    uses = [{"text": "\\set aid random(1, 100000 * :scale)\nSELECT :aid;", "weight": 3}, {"text": "SELECT 2;"}]
    assert list(contradicted(spec, text, parameters={**wide, "scripts": uses})) == ["scale-variable"]
    with_variable: dict[str, object] = {**wide, "scripts": uses, "variables": {"scale": 50}}
    assert contradicted(spec, text, parameters=with_variable) == {}
    # Our own command line gives the scale.
    assert "scale-variable" in contradicted(spec, text, parameters=wide, is_own=True)
    other = text.replace("scaling factor: 1\n", "scaling factor: 40\n")
    assert list(contradicted(spec, other, parameters=wide)) == ["scale"]


def test_a_number_has_its_noun_in_the_singular_or_the_plural() -> None:
    text = NEW.replace("clients: 8", "clients: 1").replace("tries: 3", "tries: 1")
    sentences = set(contradicted(replace(NEW_SPEC, threads=8), text).values())
    several = "The output is of 4 threads, not of 8."
    assert sentences == {"The output is of 1 client, not of 8.", "The output is of 1 try at most, not of 3.", several}


def test_no_more_threads_than_clients_are_expected() -> None:
    text = NEW.replace("number of clients: 8", "number of clients: 2").replace("threads: 4", "threads: 2")
    spec = replace(NEW_SPEC, clients=2, threads=8)
    assert contradicted(spec, text) == {}
    assert list(contradicted(replace(spec, threads=1), text)) == ["threads"]


def test_a_number_of_transactions_claims_how_long_it_took() -> None:
    spec = replace(SPEC, tool_version="16", parameters={"script": "simple-update", "scale": 1}, duration_s=1)
    text = recorded("16", "logged").stdout.decode()
    assert contradicted(spec, text) == contradicted(replace(spec, duration_s=0), text) == {}
    assert list(contradicted(replace(spec, duration_s=60), text)) == ["duration"]


def test_the_time_that_a_number_of_transactions_took_is_given_with_that_of_connecting_or_without() -> None:
    text = recorded("16", "logged").stdout.decode()
    text = re.sub(r"(initial connection time = )\S+", r"\g<1>5000.000", text)
    spec = replace(SPEC, tool_version="16", parameters={"script": "simple-update", "scale": 1})
    assert [list(contradicted(replace(spec, duration_s=s), text)) for s in (1, 5, 12)] == [[], [], ["duration"]]


def test_a_connection_for_each_transaction_is_told_by_the_way_of_counting_or_by_what_connecting_took() -> None:
    spec = replace(SPEC, clients=2, threads=2, duration_s=1, parameters={"script": "select-only", "scale": 1})
    each: dict[str, object] = {"connect_each": True}
    for version in ("13", "14", "15", "16", "18"):
        text = recorded(version, "connect_each").stdout.decode()
        versioned = replace(spec, tool_version=version)
        assert contradicted(versioned, text, parameters=each) == {}
        # 13 prints both rates either way: then it is the audit that finds them far apart.
        assert list(contradicted(versioned, text)) == (["connections"] if version != "13" else [])
        plain = recorded(version, "plain").stdout.decode()
        assert "connections" in contradicted(versioned, plain, parameters=each)


def test_rates_that_are_too_low_to_tell_leave_open_whether_each_transaction_connected() -> None:
    """At 0.053254 TPS the sixth decimal is 0.2 ms; at 1,000 TPS it is nothing, and no connection is so quick."""
    spec = replace(SPEC, tool_version="13", clients=4, threads=2, duration_s=1)
    plain = recorded("13", "plain").stdout.decode()
    each: dict[str, object] = {"script": "select-only", "scale": 1, "connect_each": True}
    for rate, codes in (("0.053254", []), ("1000.000000", ["connections"])):
        assert list(contradicted(spec, re.sub(r"tps = \S+", f"tps = {rate}", plain), parameters=each)) == codes


def test_tries_without_a_limit_are_told_by_the_retries() -> None:
    text = NEW.replace("maximum number of tries: 3\n", "")
    assert "tries without a limit, not of 3" in contradicted(NEW_SPEC, text)["tries"]
    untiring = {"max_tries": 0}
    assert contradicted(NEW_SPEC, text, parameters=untiring) == {}
    assert "3 tries at most, not of tries without a limit." in contradicted(NEW_SPEC, NEW, parameters=untiring)["tries"]
    assert PGBENCH.stated_parameters(printing(text))["max_tries"] == 0
    assert PGBENCH.stated_parameters(printing(NEW))["max_tries"] == 3
    assert "max_tries" not in PGBENCH.stated_parameters(printing(OLD))
    without = "".join(line for line in text.splitlines(keepends=True) if "retr" not in line)
    assert contradicted(NEW_SPEC, without) == {}


def test_where_partitions_would_be_printed_their_absence_tells() -> None:
    plain = NEW.replace("partition method: hash\npartitions: 4\n", "")
    assert list(contradicted(NEW_SPEC, plain)) == ["partitions"]
    assert contradicted(NEW_SPEC, plain, parameters={"partitions": 0}) == {}


def test_lines_of_a_second_run_claim_nothing_of_the_first() -> None:
    second = NEW.replace("clients: 8", "clients: 9").replace("duration: 60", "duration: 6")
    assert contradicted(NEW_SPEC, NEW + second) == {}
    cut = NEW.partition("duration")[0]
    assert contradicted(replace(NEW_SPEC, duration_s=7), cut + second) == {}


def test_a_merged_stream_claims_what_its_summary_says() -> None:
    banner, rest = NEW.split("\n", 1)
    merged = f"starting vacuum...end.\n{banner}\nprogress: 1.0 s, 1000.0 tps, lat 8.000 ms stddev 0.100\n{rest}"
    assert contradicted(NEW_SPEC, merged, server="15.2") == {}
    assert list(contradicted(replace(NEW_SPEC, clients=9), merged.replace("\n", "\r\n"))) == ["clients"]


def test_texts_of_other_programs_claim_nothing() -> None:
    for text in ("", "boom", "transactions: 5\n", "{}"):
        assert contradicted(NEW_SPEC, text, server="16.4") == {}


@pytest.mark.parametrize("name", ["9.3", "9.4", "9.5", "9.6", "10", "14"])
def test_what_a_version_is_known_to_print_is_of_that_version(name: str) -> None:
    text = hand_made(name).stdout.decode()
    other = "13.1" if name == "14" else "14.1"
    spec = replace(SPEC, tool_version=name)
    assert "client-version" not in contradicted(spec, text)
    assert "client-version" in contradicted(replace(spec, tool_version=other), text)


@given(st.text(alphabet="pgbench (15.,)server transactype:<builtin>%-=\n\r0123456789", max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    assert len(read_summary(text).values) <= text.count("\n") + 1
    assert all(contradicted(NEW_SPEC, text + NEW, server="15.2").values())
    assert Version.read(text) is None or isinstance(Version.read(text), Version)


@given(
    st.text(alphabet="0123456789.-", max_size=12),
    st.sampled_from(["0", "1", "1000", "9" * 18]),
    st.sampled_from(["0.000000", "0.000001", "1000.166694"]),
)
def test_any_numbers_of_a_run_at_a_rate_can_be_read(lag_ms: str, transactions: str, tps: str) -> None:
    lag = f"rate limit schedule lag: avg {lag_ms} (max {lag_ms}) ms\ntps ="
    text = NEW.replace("tps =", lag).replace("1000.166694", tps).replace("60000", transactions)
    assert PGBENCH.stated_rate(printing(text)) is None or float(tps)
    assert all(contradicted(NEW_SPEC, text, server="15.2").values())


def test_an_output_with_a_lag_and_a_rate_of_0_states_none() -> None:
    lag = "rate limit schedule lag: avg 0.100 (max 1.000) ms\ntps ="
    text = NEW.replace("tps =", lag)
    assert PGBENCH.stated_rate(printing(text))
    damaged = text.replace("1000.166694", "0.000000")
    assert PGBENCH.stated_rate(printing(damaged)) is None
    assert "rate" not in contradicted(NEW_SPEC, damaged, server="15.2")


def test_of_long_lines_no_more_is_read_than_there_are_lines() -> None:
    for piece in ("pgbench (1", "SQL script 1: ", "number of transactions above the 1", "tps = 1", ": "):
        assert len(read_summary(f"transaction type: x\n{piece * 100_000}\n" * 2).values) <= 4


REPORT = "statement latencies in milliseconds and failures:\n         0.163           0  END;\n"


def test_a_report_by_statement_is_held_against_whether_statements_were_timed() -> None:
    timed: dict[str, object] = {"statement_latencies": True}
    assert contradicted(NEW_SPEC, NEW + REPORT, parameters=timed) == {}
    assert contradicted(NEW_SPEC, NEW + REPORT) == {
        "statement-latencies": "The output is of a run with a report by statement (-r), "
        "not of one without a report by statement (-r)."
    }
    assert list(contradicted(NEW_SPEC, NEW, parameters=timed)) == ["statement-latencies"]


@pytest.mark.parametrize("is_own", [True, False])
def test_a_think_time_has_the_report_by_statement_whatever_the_switch_says(is_own: bool) -> None:
    text = NEW.replace("<builtin: TPC-B (sort of)>", "script_0.sql").replace("tries: 3", "tries: 1")
    for switch in (True, False):
        think: dict[str, object] = {"max_tries": 1, "think_ms": 5, "statement_latencies": switch}
        assert "statement-latencies" not in contradicted(NEW_SPEC, text + REPORT, parameters=think, is_own=is_own)
        codes = contradicted(NEW_SPEC, text, parameters=think, is_own=is_own)
        # Elsewhere clients may have paused without it.
        assert ("statement-latencies" in codes) == is_own


def test_what_a_text_states_for_a_missing_workload_includes_that_statements_were_timed() -> None:
    assert "statement_latencies" not in PGBENCH.stated_parameters(printing(OLD))
    stated = PGBENCH.stated_parameters(printing(OLD + REPORT))
    assert contradicted(replace(OLD_SPEC, parameters=stated), OLD + REPORT) == {}
