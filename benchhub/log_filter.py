"""Logs without secrets: the address of a shared page is its key."""

from __future__ import annotations

import logging
import re

# Whoever sends a wrong name of a host, or an address that cannot be, is told so: each would be a traceback of 4 kB.
OF_ANYBODY = "django.security."
LINK = re.compile(r"(/s/)[\w~.%:-]+(/k/[\w~.%:-]+)?")


def without_token(text: str) -> str:
    """Return a text in which no address of a shared page holds its token."""
    return LINK.sub(r"\1...", text)


class WithoutTokens(logging.Filter):
    """Takes the tokens of links out of whatever is logged, its arguments and its traceback included.

    What Django refuses of anybody is one line.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = without_token(record.getMessage()), None
        if record.name.startswith(OF_ANYBODY):
            record.exc_info = record.exc_text = None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = without_token(record.exc_text)
        return True
