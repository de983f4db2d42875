"""The leaderboard: systems by throughput, or by price per unit of it, of one workload under one protocol."""
