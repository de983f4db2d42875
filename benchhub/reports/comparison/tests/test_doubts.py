from typing import cast

from benchhub.analysis.doubts.verdict import Verdict
from benchhub.reports.comparison.answers.doubts import Doubts
from benchhub.reports.comparison.entries import Entry

EDGE = "This is the highest level that was run: the peak may lie beyond it. Run more clients too."


def test_a_curve_whose_runs_are_sound_but_whose_peak_is_not_is_not_called_free_of_doubt():
    at_the_edge, other = cast("Entry", object()), cast("Entry", object())
    sound = Verdict(())
    doubts = Doubts((), ((at_the_edge, (EDGE,)),), ((at_the_edge, sound), (other, sound)))
    assert doubts.judged == [("sound, with a remark", [at_the_edge]), ("no reason for doubt was found", [other])]
