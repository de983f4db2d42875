"""Move what a price depends on, and see where the cheaper of two choices changes.

`handles` say what is moved, `choices` are priced with it by the engine that prices everything, `axis` is the range that
is looked at, `laboratory` prices each choice along it, `flips` finds where two of them change places, `words` says so.
"""
