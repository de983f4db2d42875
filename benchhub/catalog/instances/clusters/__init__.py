"""Clusters of BenchHub's own: how they are made, what they may be given, and the copies of their files."""
