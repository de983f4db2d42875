import pytest

from benchhub.bench.results.ingest import step_reason
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
