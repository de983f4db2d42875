"""Logs without secrets: the address of a shared page is its key."""

from __future__ import annotations

import logging
import re

LINK = re.compile(r"(/s/)[\w~.%:-]+(/k/[\w~.%:-]+)?")


def without_token(text: str) -> str:
    """Return a text in which no address of a shared page holds its token."""
    return LINK.sub(r"\1...", text)


class WithoutTokens(logging.Filter):
    """Takes the tokens of links out of whatever is logged, its arguments and its traceback included."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = without_token(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = without_token(record.exc_text)
        return True
