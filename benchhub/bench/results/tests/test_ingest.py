import pytest

from benchhub.bench.results.ingest import overdue_reason, overflow_reason, step_reason
from runners.conftest import fake_spec
from runners.contract import Outputs


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (
            b'Script 2, line 3: error: syntax error at or near "SELEC"\nThe check of the scripts failed.\n',
            'The check of the scripts failed: Script 2, line 3: error: syntax error at or near "SELEC".',
        ),
        (b"VACUUM failed.\n", "VACUUM failed."),
        (b"", "A step beside the load failed."),
    ],
)
def test_a_step_beside_the_load_is_named_with_what_it_said(stderr, reason):
    assert step_reason(Outputs(97, b"", stderr)) == reason


@pytest.mark.parametrize(
    ("steps", "where"),
    [(b"verify 10.1\nmeasure 12.3\n", " at the step measure"), (b"", ""), (b"verify 10.1\nmea", " at the step verify")],
)
def test_a_run_that_was_ended_at_its_deadline_says_which_and_where_it_was(steps, where):
    reason = overdue_reason(fake_spec(deadline_s=1800), Outputs(143, b"", b"", {"overdue": b"1800\n", "step": steps}))
    assert reason == (
        f"It had not ended within its deadline of 30 min, so its host ended it{where}. Nothing was measured."
    )


def test_a_run_that_was_ended_as_it_printed_without_end_says_where_it_was_and_what_to_look_for():
    reason = overflow_reason(Outputs(143, b"", b"", {"overflow": b"1073741900\n", "step": b"measure 12.3\n"}))
    assert reason.startswith(
        "It printed so much that the disk would have been filled, so its host ended it at the step"
    )
    assert "client_min_messages" in reason and "measure." in reason
