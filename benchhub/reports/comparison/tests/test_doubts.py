from typing import cast

from benchhub.analysis.doubts.verdict import Verdict
from benchhub.reports.comparison.comparison import Chosen
from benchhub.reports.comparison.doubts import Doubts

EDGE = "This is the highest level that was run: the peak may lie beyond it."


def test_a_curve_whose_runs_are_sound_but_whose_peak_is_not_is_not_called_free_of_doubt():
    at_the_edge, other = cast("Chosen", object()), cast("Chosen", object())
    sound = Verdict(())
    found = Doubts((), ((at_the_edge, (EDGE,)),), ((at_the_edge, sound), (other, sound)))
    assert found.judged == [("sound, with a remark", [at_the_edge]), ("no reason for doubt was found", [other])]
