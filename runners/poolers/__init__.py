"""A connection pooler in front of a server: how a load goes through it, and what its console says of it."""
