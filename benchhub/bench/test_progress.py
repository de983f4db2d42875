from .progress import counted


def test_what_measures_nothing_is_counted_apart():
    assert counted({"measure": 16, "load": 2}) == "16 runs and 2 loads"
    assert counted({"load": 1, "warmup": 1, "measure": 1}) == "1 run, 1 warm-up and 1 load"
    assert counted({"load": 2}) == "2 loads"
    assert counted({}) == "0 runs"


def test_what_is_done_stands_before_each_count():
    assert counted({"measure": 16, "load": 2}, {"load": 2}) == "0 of 16 runs and 2 of 2 loads"
