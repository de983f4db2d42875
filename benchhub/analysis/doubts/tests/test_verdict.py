import pytest

from benchhub.analysis.doubts import steadiness
from benchhub.analysis.doubts.doubt import weighed
from benchhub.analysis.doubts.verdict import WORDS, CurveFacts, RunFacts, Weight, host_states, of_curve, of_run
from benchhub.analysis.words import count

STEADY = steadiness.of_series([990.0, 1010.0] * 30)
SOUND = {
    "steadiness": STEADY,
    "thread_busy_share": 0.5,
    "transactions": 60_000,
    "stolen_share": 0.0,
    "busy_before": {"the host": 0.04},
    "throttle_events": 0,
    "blocks_read": 60,
    "covered_s": 60.0,
}


def facts(**changes):
    return RunFacts(**{"clients": 8, "duration_s": 60.0, **SOUND, **changes})


def test_a_run_with_nothing_against_it_has_no_doubt_and_says_so():
    verdict = of_run(facts())
    assert (verdict.doubts, verdict.unchecked) == ((), ())
    assert verdict.words == "no reason for doubt was found"


@pytest.mark.parametrize(
    ("changes", "code", "weight"),
    [
        ({"driver_busy_share": 0.97}, "client-bound", Weight.DOUBTFUL),
        ({"thread_busy_share": 0.97}, "client-bound", Weight.DOUBTFUL),
        ({"driver_busy_share": 0.97, "thread_busy_share": 0.97}, "client-bound", Weight.DOUBTFUL),
        ({"steadiness": steadiness.of_series([500.0] * 7 + [990.0, 1010.0] * 30)}, "unsteady", Weight.DOUBTFUL),
        ({"busy_before": {"the driver's host": 0.1, "the server's host": 0.26}}, "host-busy", Weight.DOUBTFUL),
        ({"throttle_events": 3}, "throttled", Weight.DOUBTFUL),
        ({"stolen_share": 0.034}, "stolen-cpu", Weight.DOUBTFUL),
        ({"failed_transactions": 6}, "failures", Weight.SLIGHT),
        ({"failed_transactions": 6_000}, "failures", Weight.DOUBTFUL),
        ({"covered_s": 40.0}, "truncated", Weight.CONTRADICTED),
        ({"settings_changed": ["work_mem"]}, "settings-changed", Weight.CONTRADICTED),
        ({"doubts": [weighed("settings_differ", "fsync was off.")]}, "settings_differ", Weight.DOUBTFUL),
        ({"doubts": [weighed("rate", "They disagree.")]}, "rate", Weight.CONTRADICTED),
        ({"doubts": [weighed("threads-uneven", "3 threads.")]}, "threads-uneven", Weight.SLIGHT),
    ],
)
def test_each_doubt_by_itself(changes, code, weight):
    verdict = of_run(facts(**changes))
    assert [(doubt.code, doubt.weight) for doubt in verdict.doubts] == [(code, weight)]
    assert verdict.weight == weight


@pytest.mark.parametrize(
    "changes",
    [
        {"driver_busy_share": 0.85},
        {"thread_busy_share": 0.89},
        {"stolen_share": 0.004},
        {"busy_before": {"the host": 0.25}},  # what BenchHub does itself to start a run
        {"covered_s": 59.0},  # the last line of progress may be missing
        {"blocks_read": 600_000},  # 10 blocks per transaction, but steady: a data set that does not fit
    ],
)
def test_what_is_usual_is_no_doubt(changes):
    assert of_run(facts(**changes)).doubts == ()


def test_a_cache_that_fills_while_throughput_rises_was_not_warm():
    rising = steadiness.of_series([1000.0 + 10 * second for second in range(60)])
    assert "cache-not-warm" in of_run(facts(steadiness=rising, blocks_read=60_000)).codes
    assert "cache-not-warm" not in of_run(facts(steadiness=rising, blocks_read=60)).codes
    falling = steadiness.of_series([2000.0 - 10 * second for second in range(60)])
    assert "cache-not-warm" not in of_run(facts(steadiness=falling, blocks_read=60_000)).codes


def test_what_is_not_known_is_not_checked_and_named():
    verdict = of_run(RunFacts(clients=1, duration_s=5))
    assert verdict.doubts == ()
    assert verdict.unchecked == (
        "steadiness, which takes 20 values",
        "whether the load generator was the limit",
        "other work just before the load",
        "CPU time stolen by other guests",
        "throttling of the CPUs",
        "blocks read",
    )


def test_an_idle_load_generator_was_looked_at():
    assert "whether the load generator was the limit" not in of_run(facts(thread_busy_share=0.0)).unchecked


@pytest.mark.parametrize(
    ("failed", "ended", "share_text"),
    [(1, 99, "1%"), (1_000, 3, "more than 99%"), (99_999, 1, "more than 99%"), (1_000, 0, "100%")],
)
def test_the_share_that_failed_is_written_as_a_percentage(failed, ended, share_text):
    [doubt] = of_run(facts(failed_transactions=failed, transactions=ended)).doubts
    assert doubt.text == (
        f"{count(failed, 'transaction')} failed ({share_text} of all): the server worked on them, and they are in no "
        "throughput. A log of errors, where there is one, may say why."
    )


def test_the_heaviest_doubt_is_the_verdict():
    verdict = of_run(facts(failed_transactions=1, covered_s=10.0))
    assert verdict.words == "not to be relied on"


def curve_of(*runs, **more):
    return of_curve(CurveFacts(dict(enumerate(runs, start=1)), len(runs), **more))


def test_a_curve_of_sound_runs_with_three_repeats_has_no_doubt():
    assert curve_of(facts(), facts(), facts()).doubts == ()


def test_too_few_repeats_are_named_with_their_level():
    verdict = curve_of(facts(), facts(), facts(), facts(clients=16))
    [doubt] = verdict.doubts
    assert doubt.text == "Fewer than 3 repeats at 16 clients: no interval, and no test. Add repeats."
    assert "at every level" in curve_of(facts()).doubts[0].text


def test_a_doubt_of_several_runs_is_said_once_and_counts_them():
    stolen = facts(stolen_share=0.05)
    texts = [doubt.text for doubt in curve_of(stolen, facts(), stolen).doubts]
    assert texts == ["2 of 3 runs (runs 1, 3). The first: 5.0% of the CPU time was taken by other guests of the "
                     "machine (steal): throughput may be too low. Run while they are idle, or on a machine of its "
                     "own."]  # fmt: skip


def test_a_host_that_changed_between_runs_is_a_doubt():
    verdict = curve_of(facts(facts_digest="a"), facts(facts_digest="b"), facts(facts_digest="a"))
    assert verdict.doubts[0].text == (
        "The host or the server changed during this curve (runs 1, 3; run 2), so its points may differ for that reason "
        "alone. Compare the facts of these runs, and repeat those that differ."
    )


@pytest.mark.parametrize(
    ("digests", "states"),
    [
        (("ax", "ay", "ax"), [[1, 3], [2]]),
        (("a", "ax", "ax"), []),  # the first was probed before limits were read
        (("a", "ax", "ay"), [[2], [3]]),
        (("a", "ax", "b"), [[1, 2], [3]]),
        (("ax", "a", "by", "bz"), [[1, 2], [3], [4]]),
        (("", "ax"), []),
    ],
)
def test_limits_make_another_host_only_of_runs_that_both_know_theirs(digests, states):
    rows = [(run, digest[:1], digest[1:]) for run, digest in enumerate(digests, start=1)]
    assert host_states(rows) == states
    judged = curve_of(*(facts(facts_digest=digest[:1], limits_digest=digest[1:]) for digest in digests))
    assert ("host-changed" in [doubt.code for doubt in judged.doubts]) == bool(states)


def test_a_first_run_that_reads_far_more_than_its_fellows_met_a_cold_cache():
    verdict = curve_of(facts(blocks_read=60_000), facts(), facts())
    assert verdict.codes == {"colder-cache"}
    assert verdict.doubts[0].text.startswith("Run 1 at 8 clients read 1 blocks per transaction")


def test_runs_without_a_result_and_outliers_are_doubts():
    values = (100.0, 101.0, 99.0, 100.0, 55.0)
    verdict = curve_of(*(facts(throughput=value) for value in values), lost=1)
    assert verdict.codes == {"runs-lost", "outlier"}
    assert "Run 5 lies far from its 4 fellows at 8 clients (Grubbs' test at 1%)" in verdict.doubts[1].text


def test_repeats_in_a_row_and_a_drift_are_doubts():
    levels = (1, 1, 1, 1, 8, 8, 8, 8)
    runs = [
        facts(clients=clients, started_s=60.0 * place, throughput=100.0 * clients * (1 - 0.02 * place))
        for place, clients in enumerate(levels)
    ]
    text_by_code = {doubt.code: doubt.text for doubt in curve_of(*runs).doubts}
    assert text_by_code.keys() == {"repeats-in-a-row", "drift"}
    assert text_by_code["drift"].startswith("Throughput fell by 1")
    assert curve_of(*runs[:1], *runs[4:5]).codes == {"few-repeats"}


def test_every_weight_has_words():
    assert set(WORDS) == {0, *Weight}


def test_a_host_that_was_busy_before_the_load_is_named_with_the_share_that_was_not_for_the_load():
    [doubt] = of_run(facts(busy_before={"the driver's host": 0.03, "the server's host": 0.5})).doubts
    assert doubt.text == (
        "Just before the load 50% of the CPU time of the server's host went to other work, which may have "
        "slowed the run. Stop it and run again."
    )
