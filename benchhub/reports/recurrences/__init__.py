"""The page of a plan that recurs: what its rule has queued, and the peaks of each system over time."""
