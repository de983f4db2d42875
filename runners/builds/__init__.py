"""PostgreSQL built on a target from a source: what is asked for, the detached job that builds it, and why it failed."""
