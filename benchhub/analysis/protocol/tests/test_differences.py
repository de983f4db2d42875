from benchhub.analysis.protocol.differences import MISSING, Difference, differences


def test_only_what_differs_is_told_with_every_value_and_what_is_missing():
    rows = differences([{"kernel": "6.1", "fsync": "on"}, {"kernel": "6.8", "fsync": "on", "THP": "never"}])
    assert rows == [Difference("kernel", ("6.1", "6.8")), Difference("THP", (MISSING, "never"))]


def test_what_is_alike_everywhere_or_not_there_at_all_differs_in_nothing():
    assert differences([{"fsync": "on"}, {"fsync": "on"}]) == []
    assert differences([]) == []
