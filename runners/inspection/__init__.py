"""A first look at a PostgreSQL server from the host that is to drive its runs: the log-in, and what is there."""
