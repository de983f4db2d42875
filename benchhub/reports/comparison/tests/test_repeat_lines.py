"""The runs behind a lane are written by a filter, which must escape and link as a template would."""

from benchhub.reports.comparison.answers.lanes import Repeat
from benchhub.reports.templatetags.shown import repeat_lines

REPEAT = Repeat(1207, 2, "PostgreSQL 18, <fast> at 0", "1,200")
LINE = (
    '<li><span class="key key-2"></span><span class="sr">PostgreSQL 18, &lt;fast&gt; at 0, </span>1,200 '
    '<a href="/runs/1207/">run 1207</a>{}</li>'
)
ASIDE = ' <a href="/runs/1207/set-aside">set aside<span class="sr"> run 1207</span></a>'


def test_a_run_is_escaped_and_linked_and_set_aside_by_those_who_may():
    assert repeat_lines([REPEAT], True) == LINE.format(ASIDE)
    assert repeat_lines([REPEAT, REPEAT], False) == "\n".join([LINE.format("")] * 2)
