"""`make demo`: the whole of BenchHub with a target of its own, on one machine, until Ctrl-C.

A light supervisor that imports no Django: `python -m benchhub.demo check | up [--once] | stop | clean`.
"""
