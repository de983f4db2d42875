"""Forms of what decides when and how runs start: periods of hosts, and policies of experiments."""
