"""Price throughput in money: what was bought, how it is licensed, for how long, divided by what was measured.

Decimal throughout; every quotient is rounded once, from the exact fraction. In the order in which they build on
each other: `money` (amounts, rounding, dated conversion), `steps` (the derivation), `listed` (dated list prices),
`topology` (machines as bought), `rules` (what a licence model can say), `units` (how many licences), `licences` (what
they cost), `sheet` (line items and discounts), `quote` (all of it, over a throughput), `certainty` (how sure a price
is) and `questions` (what people ask of prices). Rules after the TPC's pricing specification: the term is 3 years by
default, the rounding is named, unlike currencies never add, a missing price is an error and never 0.
"""
