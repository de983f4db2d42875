"""Prices of curves by a reader's terms: terms -> queries -> orders -> table, figures and what if.

`terms` reads the address, `queries` the warehouse; `orders` says what is bought and asks the engine once for each
hardware and licence; `table` divides by throughput, in `cells` with `verdicts`; `pictures` and `what_if` answer the
questions that need a picture.
"""
