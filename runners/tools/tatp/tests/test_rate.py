"""How a run's rates are explained; all numbers are computed by hand."""

from __future__ import annotations

from runners.tools.tatp.rate import steps

RATES = {
    "mqth": 4645.9,
    "ended_transactions": 45_910.0,
    "refused_transactions": 1_625.0,
    "measured_s": 9.532,
    "strict_mqth": 3649.0,
    "empty_reads": 9_502.0,
}


def test_both_rates_are_recomputed_step_by_step_from_the_counts_beside_them() -> None:
    # (45,910 - 1,625) / 9.532 = 4,645.9; less 9,502 empty reads 3,649.1
    sentences = steps(RATES, 10, is_sampled=True)
    assert sentences[1] == "(45,910 - 1,625) / 9.532 s = 4,645.9 MQTh."
    assert sentences[2].startswith("About 9,502 reads, by those that were looked at, found nothing.")
    assert sentences[2].endswith("(45,910 - 1,625 - 9,502) / 9.532 s = 3,649.0 MQTh.")
    assert sentences[3].startswith(
        "The 9.532 s go from the end of the warm-up to the last transaction; 10 s were asked for."
    )


def test_where_every_transaction_was_logged_nothing_is_called_an_estimate() -> None:
    sentences = steps(RATES, 10, is_sampled=False)
    assert sentences[2].startswith("9,502 reads found nothing.")


def test_of_empty_reads_too_the_step_says_how_far_off_they_may_be() -> None:
    # 20,000 reads, 9,502 of them empty (0.4751); of 600 lines 600 x 20,000 / 44,285 = 271 are reads, and 500 were
    # looked at: 1.96 x 20,000 x root(0.2257 / 271 + 0.2494 / 500) = 1,431.
    counts = {"executions_get_access_data": 20_000.0, "reads_looked_at": 500.0, "logged_transactions": 600.0}
    sentences = steps({**RATES, **counts}, None, is_sampled=True)
    assert sentences[2].startswith("About 9,502 (± 1,431) reads, by those that were looked at, found nothing.")


def test_without_a_strict_rate_no_step_speaks_of_it_and_without_counts_there_are_none() -> None:
    counts = {name: RATES[name] for name in ("mqth", "ended_transactions", "refused_transactions", "measured_s")}
    assert not any("strict" in step for step in steps(counts, None, is_sampled=False))
    assert steps({"mqth": 900.0}, 10, is_sampled=False) == []
