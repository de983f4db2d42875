"""The price laboratory: a comparison's prices along an axis, with handles to move, and where choices flip.

`settings` reads the address, `setup` gives the engine what the comparison has with the `handles` moved, `figures` draws
it, `tables` lists it and `page` shows it. Prices come from benchhub/analysis/pricing/laboratory, by the engine that
prices the comparison.
"""
