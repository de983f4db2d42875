"""Build a frozen document, from which a shared page, its exports and a report are made. Format: docs/snapshots.md.

`nodes` builds its parts, `canonical` turns it into bytes with a digest, `projection` leaves out what a link hides.
"""
