"""Telemetry that sysstat noted beside a load: the JSON that `sadf -j` makes of a file of sadc, as our own metrics."""
