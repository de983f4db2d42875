"""How long the board may show what it once computed.

A board is polled, so that what takes more than a lookup is computed once for each state of the data: its key names
the counts of results, which the database keeps, and a slot of ten minutes, for what the counts do not tell (a price,
or a run set aside while another was put back).
"""

from __future__ import annotations

from datetime import datetime

SLOT_S = 600


def slot(now: datetime) -> int:
    return int(now.timestamp()) // SLOT_S
