"""Real outputs with one thing changed: each is caught, or a reason says why none can catch it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace

import pytest

from benchhub.bench.results.tests.corruption import (
    FAILED,
    Change,
    Corruption,
    assert_caught,
    file,
    printed,
    progress,
    without_log,
)
from benchhub.bench.results.tests.recordings import odd_run
from runners.contract import Outputs


def log(edit: Callable[[list[bytes]], list[bytes]]) -> Change:
    """Change the lines of the log."""

    def change(outputs: Outputs) -> Outputs:
        lines = gzip.decompress(outputs.files["log.gz"]).splitlines(keepends=True)
        edited = edit(lines)
        assert edited != lines
        return replace(outputs, files={**outputs.files, "log.gz": gzip.compress(b"".join(edited))})

    return change


def column(place: int, value: Callable[[int], int], lines: slice = slice(None)) -> Change:
    def edit(rows: list[bytes]) -> list[bytes]:
        edited = list(rows)
        for number in range(*lines.indices(len(rows))):
            words = rows[number].split()
            words[place] = str(value(int(words[place]))).encode()
            edited[number] = b" ".join(words) + b"\n"
        return edited

    return log(edit)


def with_log_of(run: str) -> Change:
    return lambda outputs: replace(outputs, files=odd_run(run)[1].files)


def with_stdout_of(run: str) -> Change:
    return lambda outputs: replace(outputs, stdout=odd_run(run)[1].stdout)


def with_stderr_of(run: str) -> Change:
    return lambda outputs: replace(outputs, stderr=odd_run(run)[1].stderr)


def started_at(epoch_s: int) -> Change:
    return lambda outputs: replace(outputs, files={**outputs.files, "started_epoch": str(epoch_s).encode()})


CORRUPTIONS = (
    # 18: two scripts, progress, a whole log.
    Corruption(
        "18-weights", "a digit of the transactions", printed(r"processed: 289", "processed: 389"), "script-count"
    ),
    Corruption(
        "18-weights", "the last digit of the transactions", printed(r"processed: 289", "processed: 288"), "script-count"
    ),
    Corruption("18-weights", "the first digit of the TPS", printed(r"^tps = 290", "tps = 490"), "script-count"),
    Corruption("18-weights", "a digit of the TPS, lower", printed(r"^tps = 290", "tps = 230"), "script-count"),
    Corruption("18-weights", "the average", printed(r"^latency average = 10", "latency average = 17"), "histogram"),
    Corruption(
        "18-weights", "a late digit of the average", printed(r"^(latency average = 10.)307", r"\g<1>907"), "histogram"
    ),
    Corruption(
        "18-weights", "the average in s", printed(r"^latency average = 10.307", "latency average = 0.010"), "histogram"
    ),
    Corruption(
        "18-weights", "the deviation", printed(r"^latency stddev = 9.156", "latency stddev = 5.156"), "histogram"
    ),
    Corruption("18-weights", "the clients", printed(r"clients: 3", "clients: 8"), "clients"),
    Corruption("18-weights", "the threads", printed(r"threads: 1", "threads: 3"), "threads"),
    Corruption("18-weights", "the scale", printed(r"factor: 1", "factor: 10"), "scale"),
    Corruption("18-weights", "the duration", printed(r"duration: 1 s", "duration: 7 s"), "duration"),
    Corruption("18-weights", "a script's count", printed(r"^ - 241 tr", " - 214 tr"), "script-count"),
    Corruption("18-weights", "a script's second count", printed(r"processed: 48 ", "processed: 84 "), "script-count"),
    Corruption(
        "18-weights",
        "two scripts' counts swapped",
        printed(r"(?s) - 241 tr(.*) - 48 tr", r" - 48 tr\1 - 241 tr"),
        "script-count",
    ),
    Corruption(
        "18-weights", "failed transactions without a share", printed(r"^(number of failed.*: )0", r"\g<1>9"), "share"
    ),
    Corruption("18-weights", "the line of TPS dropped", printed(r"^tps.*\n", ""), FAILED),
    Corruption("18-weights", "the line of transactions dropped", printed(r"^number of transactions a.*\n", ""), FAILED),
    Corruption(
        "18-weights",
        "the average dropped",
        printed(r"^latency average.*\n", ""),
        undetectable="What is not printed is not stored: no number is wrong.",
    ),
    Corruption(
        "18-weights",
        "the time of connecting ten times",
        printed(r"time = 8.407", "time = 84.07"),
        undetectable="Before the load, in no other number: 76 ms more are within the whole seconds of the log's clock.",
    ),
    Corruption(
        "18-weights",
        "the time of connecting in s",
        printed(r"time = 8.407", "time = 8407"),
        "progress",
    ),
    Corruption(
        "18-weights",
        "the time of connecting in s, of a run whose start is known",
        lambda o: printed(r"time = 8.407", "time = 8407")(
            started_at(int(gzip.decompress(o.files["log.gz"]).split()[4]))(o)
        ),
        "log-clock",
    ),
    Corruption("18-weights", "the summary cut in its middle", lambda o: replace(o, stdout=o.stdout[:250]), FAILED),
    Corruption("18-weights", "the summary twice", lambda o: replace(o, stdout=o.stdout * 2), FAILED),
    Corruption("18-weights", "the log cut at a line", log(lambda rows: rows[:-40]), "logged-count"),
    Corruption("18-weights", "one line of the log dropped", log(lambda rows: rows[:9] + rows[10:]), "logged-count"),
    Corruption("18-weights", "one line of the log twice", log(lambda rows: [rows[0], *rows]), "logged-count"),
    Corruption("18-weights", "the log twice", log(lambda rows: rows * 2), "logged-count"),
    Corruption("18-weights", "the log in ms", column(2, lambda us: us // 1000), "histogram"),
    Corruption("18-weights", "one latency a thousand times", column(2, lambda us: us * 1000, slice(5, 6)), "histogram"),
    Corruption(
        "18-weights",
        "one latency by 20%",
        column(2, lambda us: us * 6 // 5, slice(5, 6)),
        "histogram",
    ),
    Corruption(
        "18-weights",
        "one latency by 2%",
        column(2, lambda us: us * 51 // 50, slice(5, 6)),
        undetectable="0.1 ms in one of 289 latencies moves the average by less than the us that it is printed to.",
    ),
    Corruption(
        "18-weights", "one script in the log", column(3, lambda script: 1 - script, slice(5, 6)), "script-count"
    ),
    Corruption("18-weights", "an epoch of the log", column(4, lambda epoch: epoch + 1000, slice(5, 6)), "log-clock"),
    Corruption(
        "18-weights",
        "the log is of another day",
        lambda o: column(4, lambda epoch: epoch - 86_400)(
            started_at(int(gzip.decompress(o.files["log.gz"]).split()[4]))(o)
        ),
        "log-clock",
    ),
    Corruption("18-weights", "the run began later", started_at(1_900_000_000), "log-clock"),
    Corruption("18-weights", "another run's log", with_log_of("16-weights"), "logged-count"),
    Corruption("18-weights", "another workload's log", with_log_of("18-bimodal"), "logged-count"),
    Corruption("18-weights", "another version's summary", with_stdout_of("13-weights"), "logged-count"),
    Corruption("18-weights", "another workload's summary", with_stdout_of("18-bimodal"), "duration"),
    Corruption("18-weights", "another run's progress", with_stderr_of("18-contended"), "progress"),
    Corruption("18-weights", "progress a tenth", progress(r"286.0", "28.6"), "progress"),
    Corruption("18-weights", "progress tenfold", progress(r"286.0", "2860.0"), "progress"),
    Corruption("18-weights", "progress without its decimals", progress(r"286.0", "2860"), "progress-unreadable"),
    Corruption("18-weights", "an unreadable line in the log", log(lambda rows: [b"xx\n", *rows[1:]]), "log-unreadable"),
    # 13: both rates.
    Corruption(
        "13-contended",
        "TPS excluding below including",
        printed(r"1113.382952", "1013.382952"),
        "excluding-below-including",
    ),
    Corruption(
        "13-contended", "TPS excluding far above", printed(r"1113.382952", "1913.382952"), "excluding-overstated"
    ),
    Corruption("13-contended", "TPS including", printed(r"1105.394206", "1005.394206"), "excluding-overstated"),
    Corruption("13-contended", "transactions", printed(r"processed: 1164", "processed: 1764"), "logged-count"),
    Corruption("13-contended", "the average", printed(r"average = 16", "average = 61"), "histogram"),
    Corruption("13-contended", "the deviation", printed(r"stddev = 14", "stddev = 41"), "histogram"),
    Corruption("13-contended", "progress of another run", with_stderr_of("13-weights"), "progress"),
    Corruption("13-contended", "the clients", printed(r"clients: 20", "clients: 2"), "clients"),
    # 14: nothing but a derived average.
    Corruption(
        "14-last_slow_derived", "the derived average", printed(r"average = 10", "average = 40"), "derived-average"
    ),
    Corruption(
        "14-last_slow_derived", "an average of 0", printed(r"average = 10[0-9.]+", "average = 0.000"), "derived-average"
    ),
    Corruption("14-last_slow_derived", "TPS", printed(r"^tps = 98", "tps = 48"), "derived-average"),
    Corruption(
        "14-last_slow_derived",
        "more transactions",
        printed(r"processed: 219", "processed: 919"),
        undetectable="The one latency is derived, so a last transaction may take that long: overrun says that already; "
        "of our own runs the server's commits tell.",
    ),
    Corruption("14-last_slow_derived", "fewer transactions", printed(r"processed: 219", "processed: 19"), "rate"),
    Corruption("14-connect_each", "TPS with reconnecting", printed(r"^tps = 135", "tps = 235"), "rate"),
    Corruption("14-connect_each", "fewer in the log", log(lambda rows: rows[1:]), "logged-count"),
    # 15: failures and retries.
    Corruption(
        "15-serialization",
        "failed transactions",
        printed(r"failed transactions: 53", "failed transactions: 35"),
        "share",
    ),
    Corruption("15-serialization", "failures of a kind", printed(r"tion failures: 53", "tion failures: 83"), "share"),
    Corruption("15-serialization", "the share of failures", printed(r"53 \(42.063", "53 (24.063"), "share"),
    Corruption("15-serialization", "retried transactions", printed(r"retried: 82", "retried: 28"), "share"),
    Corruption(
        "15-serialization", "fewer retries than retried", printed(r"retries: 148", "retries: 14"), "retry-count"
    ),
    Corruption(
        "15-serialization",
        "more retries than tries allow",
        printed(r"retries: 148", "retries: 184"),
        "retry-count",
    ),
    Corruption("15-serialization", "fewer retries", printed(r"retries: 148", "retries: 140"), "progress"),
    Corruption(
        "15-serialization",
        "a few retries more",
        printed(r"retries: 148", "retries: 150"),
        undetectable="Retries after the last report of progress are in the total alone, and the tries allow them.",
    ),
    Corruption("15-serialization", "transactions", printed(r"processed: 73", "processed: 78"), "share"),
    # 16: a rate with skips.
    Corruption("16-rate_skips", "skipped transactions", printed(r"skipped: 51", "skipped: 15"), "share"),
    Corruption("16-rate_skips", "late transactions", printed(r"limit: 105/105", "limit: 505/105"), "late-count"),
    Corruption("16-rate_skips", "the average lag", printed(r"avg 6.874", "avg 60.874"), "latency-order"),
    Corruption("16-rate_skips", "the average", printed(r"average = 38", "average = 83"), "histogram"),
    Corruption("16-rate_skips", "TPS", printed(r"^tps = 52", "tps = 22"), "progress"),
    Corruption(
        "16-rate_skips",
        "a skipped line of the log dropped",
        log(lambda rows: [row for row in rows if b"skipped" not in row]),
        "logged-count",
    ),
    # Without a log the reports of progress tell.
    Corruption("18-contended", "a lower deviation", without_log(printed(r"dev = 20.180", "dev = 12.180")), "progress"),
    Corruption("18-contended", "a lower average", without_log(printed(r"age = 21.512", "age = 12.512")), "progress"),
    Corruption("18-contended", "a second's deviation", without_log(progress(r"20.259", "29.259")), "progress"),
    # Several scripts by several threads, which may lose some of their counts.
    Corruption("18-scripts_failing", "a script's count", printed(r"^ - 148 tr", " - 128 tr"), "script-count"),
    Corruption("18-scripts_failing", "a script's second count", printed(r"sed: 72 ", "sed: 63 "), "script-count"),
    Corruption("18-scripts_failing", "transactions that ended", printed(r"^(number of tr.*: )", r"\g<1>1"), "share"),
    # A number of transactions.
    Corruption("18-transactions", "TPS", printed(r"^tps = 1016", "tps = 1916"), "derived-average"),
    Corruption("18-transactions", "transactions", printed(r"processed: 100/100", "processed: 10/100"), "logged-count"),
    # sysbench
    Corruption("sysbench", "TPS", printed(r"\(1306.21 per", "(1806.21 per"), "rate"),
    Corruption(
        "sysbench", "transactions", printed(r"transactions:( +)19608", r"transactions:\g<1>16908"), "latency-sum"
    ),
    Corruption("sysbench", "events", printed(r"events:( +)19608", r"events:\g<1>16908"), "count"),
    Corruption("sysbench", "queries", printed(r"queries:( +)392232", r"queries:\g<1>932232"), "rate"),
    Corruption("sysbench", "the average", printed(r"avg:( +)3.06", r"avg:\g<1>3.60"), "latency-sum"),
    Corruption("sysbench", "the last digit of the average", printed(r"avg:( +)3.06", r"avg:\g<1>3.09"), "latency-sum"),
    Corruption("sysbench", "the sum", printed(r"59981.83", "95981.83"), "latency-sum"),
    Corruption("sysbench", "the maximum", printed(r"max:( +)29.89", r"max:\g<1>2.89"), "histogram"),
    Corruption("sysbench", "the minimum", printed(r"min:( +)0.92", r"min:\g<1>4.92"), "histogram"),
    Corruption("sysbench", "the total time", printed(r"15.0110s", "51.0110s"), "rate"),
    Corruption("sysbench", "the threads", printed(r"Number of threads: 4", "Number of threads: 8"), "clients"),
    Corruption("sysbench", "a bucket", printed(r"\*+ 632$", "**** 362"), "histogram"),
    Corruption("sysbench", "a bucket dropped", printed(r"^ +2.069 .*\n", ""), "histogram"),
    Corruption("sysbench", "progress", printed(r"tps: 1784.31", "tps: 7184.31"), "progress"),
    Corruption(
        "sysbench",
        "a line of progress dropped",
        printed(r"^\[ 15s.*\n", ""),
        undetectable="A run that ends with its interval prints no last report either; no stored number is wrong.",
    ),
    Corruption(
        "sysbench", "the printed percentile", printed(r"percentile:( +)4.82", r"percentile:\g<1>8.42"), "histogram"
    ),
    Corruption("sysbench", "the number of ignored errors", printed(r"errors:( +)4 ", r"errors:\g<1>9 "), "rate"),
    # TATP
    Corruption(
        "tatp",
        "a second twice",
        file("tatp.messages", b"progress: 8.0 s, 17606.9", b"progress: 9.0 s, 17606.9"),
        FAILED,
    ),
    Corruption("tatp", "a second dropped", file("tatp.told", b"8.0 122", b"9.0 122"), FAILED),
    Corruption("tatp", "refused writes", file("tatp.told", b"5.0 163 276", b"5.0 163 9276"), "log-outcomes"),
    Corruption("tatp", "the subscribers", file("tatp.after", b"100000", b"200000"), "subscribers"),
    Corruption("tatp", "the rate of a second", file("tatp.messages", b"23570.8", b"93570.8"), "progress"),
    Corruption(
        "tatp",
        "the end of the log",
        file("tatp.latency", b"end", b""),
        undetectable="Nothing wrong is stored: the result has no percentiles, and says so.",
    ),
)


def test_there_are_enough_corruptions_and_each_is_named_once() -> None:
    names = [(corruption.run, corruption.title) for corruption in CORRUPTIONS]
    assert len(names) == len(set(names)) >= 60


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda corruption: f"{corruption.run}: {corruption.title}")
def test_a_corruption_is_caught_or_cannot_be(corruption: Corruption) -> None:
    assert_caught(corruption)
