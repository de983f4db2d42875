"""The search over everything: hosts, experiments, runs, comparisons, licences, pages."""
