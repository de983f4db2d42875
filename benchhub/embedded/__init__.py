"""Servers out of Python wheels: PostgreSQL, a broker and an SSH target, for the demonstration and the tests.

Nothing here knows Django. Everything listens on loopback, belongs to one `Account` and is started and stopped
by one `Processes`.
"""


class EmbeddedError(Exception):
    """A server cannot be made or started; the text is one sentence for the person at the terminal."""
