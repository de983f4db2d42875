"""Reading results of TATP: what pgbench 16 and a server of 100,000 subscribers really gave, over 2 + 6 seconds."""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from runners import tools
from runners.contract import Outputs, RunResult, RunSpec
from runners.tools.histogram import percentile_us
from runners.tools.tatp.loaded import probability, unlikely_distributions
from runners.tools.tatp.parameters import TRANSACTIONS, read
from runners.tools.tatp.population import expected_shares
from runners.tools.tatp.testing import SPEC as ANY_SPEC

TATP = tools.get("tatp")
RECORDED = Path(__file__).resolve().parents[2] / "recorded"
SPEC = replace(ANY_SPEC, clients=4, threads=2, warmup_s=2, duration_s=6)


def recorded(version: str = "16", **changed: bytes) -> Outputs:
    files = {path.name: path.read_bytes() for path in (RECORDED / f"tatp-{version}").iterdir()}
    files["tatp.latency"] = gzip.decompress(files.pop("tatp.latency.gz"))
    return Outputs(0, b"", b"", {**files, **{name.replace("_", "."): content for name, content in changed.items()}})


def parsed(spec: RunSpec = SPEC, **changed: bytes) -> RunResult:
    return TATP.parse(spec, recorded(**changed))


def values(result: RunResult) -> Mapping[str, float]:
    assert result.outcome == "succeeded", result.reason
    return {name: measure.value for name, measure in result.measures.items()}


def test_a_load_says_what_was_counted_and_which_distribution_was_the_least_likely() -> None:
    """Each as expected of a million rows, but bit_7: 1,000 ones too few are 4 in chi-squared, about p = 0.045."""
    exact = expected_shares(read({}))
    counted = {
        name: {value: round(share * 1_000_000) for value, share in shares.items()} for name, shares in exact.items()
    }
    counted["bit_7"] = {0: 501_000, 1: 499_000}
    text = "\n".join(f"{name}|{value}|{count}" for name, counts in counted.items() for value, count in counts.items())
    load = replace(SPEC, kind="load", parameters={"subscribers": 2_000_000})
    result = TATP.parse(load, Outputs(0, b"", b"", {"tatp.distributions": text.encode()}))
    assert result.outcome == "succeeded"
    [remark] = result.remarks
    assert remark.startswith("Checked on 1,000,000 of 2,000,000 subscribers with ")
    assert f"all {len(exact)} distributions are as defined, the least likely of them bit_7 (p = 0.043)." in remark


def test_mqth_is_of_the_measured_part_without_what_was_refused() -> None:
    """Seconds 3 to 8 of tatp.messages, less the refused writes that tatp.told has for them."""
    ended = 18474.5 + 16685.6 + 23570.8 + 21309.4 + 25891.4 + 17606.9
    refused = 130 + 113 + 163 + 160 + 200 + 122 + 261 + 257 + 330 + 269 + 352 + 221 + 251 + 235 + 333 + 298 + 364 + 244
    rates = values(parsed())
    assert rates["mqth"] == pytest.approx((ended - refused) / 6)
    assert rates["refused_transactions"] == refused
    assert rates["measured_s"] == 6


def test_whoever_has_no_benchhub_gets_the_same_mqth_by_awk(tmp_path: Path) -> None:
    for name, content in recorded().files.items():
        (tmp_path / name.replace("messages", "progress")).write_bytes(content)
    command = ["sh", "-c", TATP.throughput_command(SPEC)]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert printed.startswith(
        f"MQTh = {values(parsed())['mqth']:.1f} (in 6.0 s 123539 transactions ended, of which 4303 "
    )


def test_the_strict_rate_leaves_out_reads_that_found_nothing() -> None:
    """How many there were is their share of the log's lines, which is within 2% of those that were told, all here."""
    reads = 6225 + 5997 + 8075 + 7357 + 9134 + 6156 + 1796 + 1679 + 2452 + 2077 + 2613 + 1813
    hits = 3971 + 3764 + 5074 + 4721 + 5776 + 3857 + 275 + 256 + 411 + 349 + 390 + 296
    rates = values(parsed())
    assert rates["empty_reads"] == pytest.approx(reads - hits, rel=0.02)
    assert rates["mqth"] - rates["strict_mqth"] == pytest.approx(rates["empty_reads"] / 6, abs=0.1)


def test_reads_that_were_not_all_looked_at_have_the_share_of_those_that_were() -> None:
    """The recorded lines, as if they had been told by one read in ten."""
    outcomes = (RECORDED / "tatp-16" / "tatp.told").read_text().replace("\n", " 10\n")
    sampled, unsampled = parsed(tatp_told=outcomes.encode()), parsed()
    by_log, by_all = values(sampled), values(unsampled)
    differing = {name for name in by_all if by_log[name] != by_all[name]}
    assert {name.rpartition("_")[0].partition("_")[0] for name in differing} == {"success"}
    assert {name for name in differing if "get" in name or "location" in name} == set()  # only writes have the warm-up
    remark = "Whether a read found a row was looked at in 1 of 10, warm-up and all; the strict rate rests on that."
    assert remark in sampled.remarks and remark not in unsampled.remarks


def test_a_sampled_run_says_how_its_refused_writes_are_known_and_what_is_in_no_response_time() -> None:
    latency = recorded().files["tatp.latency"]
    untold = latency.replace(b"kind refused-5", b"kind untold-5 3\nkind untold-6 4\nkind refused-5")
    assert untold != latency
    outcomes = (RECORDED / "tatp-16" / "tatp.told").read_text().replace("\n", " 10\n").encode()
    sampled = parsed(replace(SPEC, log_sampling_rate=0.5), tatp_latency=untold, tatp_told=outcomes)
    assert any("how often pgbench says that they ran" in remark for remark in sampled.remarks)
    assert any(remark.startswith("7 writes of the log ended after the last success") for remark in sampled.remarks)
    assert not any("pgbench says" in remark or "of the log ended" in remark for remark in parsed().remarks)


def test_a_whole_log_beside_reads_of_which_few_were_looked_at_says_only_the_latter() -> None:
    outcomes = (RECORDED / "tatp-16" / "tatp.told").read_text().replace("\n", " 10\n").encode()
    planned = replace(SPEC, log_sampling_rate=1 / 60, pilot_s=1)
    result = parsed(planned, tatp_told=outcomes, log_share=b"1\n")
    assert {histogram.sampling_rate for histogram in result.histograms} == {1.0}
    assert result.measures["reads_per_look"].value == 10
    assert not any("are from 1 of" in remark for remark in result.remarks)
    assert any("looked at in 1 of 10, warm-up and all" in remark for remark in result.remarks)
    assert "reads_per_look" not in parsed().measures


def test_without_a_log_each_read_that_was_looked_at_stands_for_as_many_as_were_not() -> None:
    outcomes = (RECORDED / "tatp-16" / "tatp.told").read_text().replace("\n", " 10\n")
    counts = values(parsed(tatp_told=outcomes.encode(), tatp_latency=b""))
    assert counts["executions_get_access_data"] == 10 * (6225 + 5997 + 8075 + 7357 + 9134 + 6156)


def test_there_is_no_strict_rate_where_no_read_was_looked_at() -> None:
    rows = [line.split() for line in (RECORDED / "tatp-16" / "tatp.told").read_text().splitlines()]
    unseen = "".join(" ".join([*row[:7], "0", "0", *row[9:]]) + "\n" for row in rows)  # no access data asked for
    rates = values(parsed(tatp_told=unseen.encode()))
    assert rates["mqth"] == values(parsed())["mqth"]
    assert rates.keys().isdisjoint({"strict_mqth", "empty_reads", "success_get_access_data"})


def test_progress_stands_in_a_file_of_its_own_where_pgbench_was_not_asked_for_it() -> None:
    lines = (RECORDED / "tatp-16" / "tatp.messages").read_bytes()
    assert values(parsed(tatp_messages=b"", tatp_progress=lines)) == values(parsed())


def test_transactions_that_failed_are_those_of_the_summary_where_there_is_one() -> None:
    outputs = replace(recorded(), stdout=b"number of failed transactions: 3 (0.001%)\n")
    result = TATP.parse(SPEC, outputs)
    assert (result.outcome, "3 transactions ended in a serialization failure" in result.reason) == ("failed", True)


@pytest.mark.parametrize("version", ["13", "14"])
def test_older_pgbench_leaves_the_same_to_read(version: str) -> None:
    result = TATP.parse(replace(SPEC, tool_version=version), recorded(version))
    rates = values(result)
    assert result.doubts == ()
    counted = rates["mqth"] * rates["measured_s"]
    assert counted == pytest.approx(rates["ended_transactions"] - rates["refused_transactions"], rel=1e-5)
    assert 0.96 < counted / rates["ended_transactions"] < 0.97
    assert [histogram.name for histogram in result.histograms] == ["latency", *TRANSACTIONS]
    # From 14 on pgbench may end before it tells its last second.
    [throughput] = [line for line in result.series if line.metric == "mqth"]
    assert len(throughput.values) == rates["measured_s"] == (6 if version == "13" else 5)


def test_each_type_has_its_share_of_success_with_what_it_must_be() -> None:
    shares = values(parsed())
    done, refused = 250 + 210 + 276 + 254 + 299 + 223, 130 + 113 + 163 + 160 + 200 + 122
    assert shares["executions_update_subscriber_data"] == done + refused
    assert shares["success_update_subscriber_data"] == pytest.approx(100 * done / (done + refused))
    assert shares["success_low_update_subscriber_data"] < 62.5 < shares["success_high_update_subscriber_data"]
    assert shares["success_update_location"] == shares["success_low_update_location"] == 100
    assert {name for name in shares if name.startswith("executions_")} == {
        f"executions_{n.lower()}" for n in TRANSACTIONS
    }


def test_response_times_are_kept_by_type_and_as_a_whole() -> None:
    result = parsed()
    assert [histogram.name for histogram in result.histograms] == ["latency", *TRANSACTIONS]
    assert result.histograms[0].total == sum(histogram.total for histogram in result.histograms[1:])
    p90_us = percentile_us(result.histograms[0], 0.9)
    assert p90_us is not None and values(result)["latency_p90_ms"] == p90_us / 1000


def test_the_warm_up_has_a_series_of_its_own() -> None:
    series = {line.metric: line for line in parsed().series}
    assert series["warmup_mqth"].values == pytest.approx((38300.7 - 282 - 510 - 519, 20872.1 - 179 - 326 - 299))
    assert series["mqth"].values[0] == pytest.approx(18474.5 - 130 - 261 - 251)
    assert series["mqth"].start_epoch_s == series["warmup_mqth"].start_epoch_s + 2
    assert series["mqth"].unit == "MQTh"


@pytest.mark.parametrize("late", ["7.0", "6.9"])
def test_a_report_that_came_late_is_about_all_seconds_since_the_one_before(late: str) -> None:
    """Of seconds 6 and 7 one report came late, the other right after it; 727 writes were refused until then."""
    outcomes, messages = (
        re.sub(rb"(?m)^((?:progress: )?)6\.0 ", rb"\g<1>%s " % late.encode(), recorded().files[f"tatp.{name}"])
        for name in ("told", "messages")
    )
    result = parsed(tatp_told=outcomes, tatp_messages=messages)
    [rates] = [line.values for line in result.series if line.metric == "mqth"]
    assert rates[3:5] == pytest.approx((21309.4 - 727 / (float(late) - 5),) * 2)
    assert (len(rates), result.has_late_reports, parsed().has_late_reports) == (6, True, False)


def test_a_sound_run_says_its_rule_and_leaves_no_doubt() -> None:
    result = parsed()
    assert result.doubts == ()
    assert "rule of the original tool" in result.remarks[0]
    assert result.remarks[-1] == "Of the call forwardings 0.0% had been replaced before the run and 0.3% after it."


def test_a_share_outside_its_band_is_a_doubt_with_the_reason() -> None:
    """Twice as many deletes refused: the forwardings are not there."""
    outcomes = (RECORDED / "tatp-16" / "tatp.told").read_text().replace("251 125", "2510 12")
    [mix_doubt, doubt, *others] = parsed(tatp_told=outcomes.encode()).doubts
    codes = [each.code for each in (mix_doubt, doubt, *others)]
    assert codes == ["mix", "success-share", "log-outcomes"]
    assert "DELETE_CALL_FORWARDING succeeded" in doubt.text and "must" in doubt.text


def test_other_end_times_than_the_definition_s_are_seen_in_the_share_of_new_destinations() -> None:
    """This population, said to be that of the original tool: 24.2% would have to find something."""
    result = parsed(replace(SPEC, parameters={"subscribers": 100_000, "population": "original-tool"}))
    [text] = [doubt.text for doubt in result.doubts if "GET_NEW_DESTINATION" in doubt.text]
    assert text.endswith("Did a load with uniform keys run on this data set before? Then load it anew.")
    uniform = {"subscribers": 100_000, "population": "original-tool", "keys": "uniform"}
    assert not any("uniform keys" in doubt.text for doubt in parsed(replace(SPEC, parameters=uniform)).doubts)


def test_subscribers_that_are_gone_are_a_doubt() -> None:
    result = parsed(tatp_after=b"375227|744|250071|99999\n")
    assert [doubt.code for doubt in result.doubts] == ["subscribers"]


def test_forwardings_that_others_took_are_a_doubt_because_no_band_tells_then() -> None:
    """1.5 for each of 250,071 facilities are 375,106.5, and six deviations sqrt(1.25 * 250,071) are 3,354.6."""
    result = parsed(tatp_before=b"371700|0|250071|100000\n")
    assert [doubt.code for doubt in result.doubts] == ["forwardings"]
    assert "There were 371,700 call forwardings before the run" in result.doubts[0].text
    assert "the population has about 375,106." in result.doubts[0].text
    assert not parsed(tatp_before=b"371800|0|250071|100000\n").doubts
    weights = {"INSERT_CALL_FORWARDING": 1, "DELETE_CALL_FORWARDING": 2}
    uneven = replace(SPEC, parameters={"subscribers": 100_000, "mix": "custom", "weights": weights})
    assert "forwardings" not in {doubt.code for doubt in parsed(uneven, tatp_before=b"371700|0|250071|100000\n").doubts}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"tatp_told": b""}, "cut off"),
        ({"tatp_told": b"1.0 0 0 0 0 0 0 0 0 0 0\nend 0 0 0 0 0 0 0 0 0 0\n"}, "do not belong together"),
        ({"tatp_before": b""}, "cannot be read"),
        ({"tatp_messages": b"", "tatp_told": b"end 0 0 0 0 0 0 0 0 0 0\n"}, "Nothing tells how many"),
        ({"tatp_messages": b"pgbench: error: client 0 script 5 aborted in command 9\n"}, "pgbench was aborted"),
    ],
)
def test_what_cannot_be_read_is_a_failed_run_with_no_numbers(changed: dict[str, bytes], reason: str) -> None:
    result = parsed(**changed)
    assert result.outcome == "failed" and reason in result.reason
    assert (result.measures, result.histograms) == ({}, ())


def test_errors_that_pgbench_survives_fail_the_run() -> None:
    messages = (RECORDED / "tatp-16" / "tatp.messages").read_text().replace(", 0 failed", ", 2 failed", 1)
    result = parsed(tatp_messages=messages.encode())
    assert (result.outcome, result.measures) == ("failed", {})
    assert result.reason.startswith("2 transactions ended in a serialization failure or a deadlock")


def test_without_its_log_a_run_keeps_its_throughput_and_says_what_is_missing() -> None:
    result = parsed(tatp_latency=b"benchhub-latency 1\n")
    assert values(result)["mqth"] > 0 and "latency_p90_ms" not in result.measures
    assert any("No response times" in remark for remark in result.remarks)


def test_a_missing_last_second_is_not_counted_as_measured() -> None:
    messages = (RECORDED / "tatp-16" / "tatp.messages").read_text().splitlines(keepends=True)[:-1]
    lines = (RECORDED / "tatp-16" / "tatp.told").read_text().splitlines(keepends=True)
    rates = values(parsed(tatp_messages="".join(messages).encode(), tatp_told="".join(lines[:7] + lines[8:]).encode()))
    assert rates["measured_s"] == 5


def test_chi_squared_is_that_of_the_tables() -> None:
    """One degree of freedom: 3.84 is left in 5 of 100 cases; nine: 27.88 in 1 of 1,000."""
    assert probability({0: 0.5, 1: 0.5}, {0: 5098, 1: 4902}) == pytest.approx(0.05, rel=0.1)
    even = dict.fromkeys(range(10), 0.1)
    far = {**dict.fromkeys(range(8), 1000), 8: 1000 + 118, 9: 1000 - 118}
    assert probability(even, far) == pytest.approx(0.001, rel=0.1)
    assert probability(even, {**far, 10: 1}) == 0


def test_a_population_with_another_share_of_active_facilities_is_not_tatp_s() -> None:
    assert "is_active" in unlikely_distributions(read({}), {"is_active": {0: 60_000, 1: 200_000}})
    assert "is_active" not in unlikely_distributions(read({}), {"is_active": {0: 37_500, 1: 212_500}})


def test_a_log_that_was_kept_is_read_where_awk_could_not() -> None:
    outputs = recorded(tatp_latency=b"", tatp_error=b"awk: no memory\n")
    log = b"0 1 900 0 1795278654 1\n0 2 100 0 1795278655 1\n0 3 200 5 1795278655 1\n0 4 800 5 1795278655 1\n"
    log_files = {"log.gz": gzip.compress(log), "marks.gz": gzip.compress(b"0 3 5 1\n0 4 5 0\n")}
    result = TATP.parse(SPEC, replace(outputs, files={**outputs.files, **log_files}))
    assert [(histogram.name, histogram.sum_us) for histogram in result.histograms] == [
        ("latency", 300),
        ("GET_SUBSCRIBER_DATA", 100),
        ("INSERT_CALL_FORWARDING", 200),
    ]
    assert any("from the kept log" in remark and "no memory" in remark for remark in result.remarks)


def test_outcomes_that_are_found_at_other_transactions_than_theirs_are_a_doubt() -> None:
    """No refused insert in the log, where two of three were told to be refused."""
    latency = re.sub(rb"(?m)^kind refused-5 \d+$", b"kind refused-5 0", recorded().files["tatp.latency"])
    [doubt] = parsed(tatp_latency=latency).doubts
    assert doubt.code == "log-outcomes"
    assert "INSERT_CALL_FORWARDING seem to have succeeded, where 3" in doubt.text
