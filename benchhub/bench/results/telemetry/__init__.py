"""The telemetry of a run: what BenchHub observed itself, or what somebody brings from sysstat."""
