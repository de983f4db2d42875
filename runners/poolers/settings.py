"""The settings of PgBouncer that say how it pools: those that a run notes."""

from __future__ import annotations

SETTINGS = (
    "pool_mode",
    "default_pool_size",
    "min_pool_size",
    "reserve_pool_size",
    "reserve_pool_timeout",
    "max_client_conn",
    "max_db_connections",
    "max_user_connections",
    "max_prepared_statements",
    "server_reset_query",
    "server_reset_query_always",
    "server_check_query",
    "server_check_delay",
    "server_lifetime",
    "server_idle_timeout",
    "server_round_robin",
    "query_timeout",
    "query_wait_timeout",
    "so_reuseport",
    "tcp_nodelay",
    "pkt_buf",
    "sbuf_loopcnt",
    "listen_backlog",
    "application_name_add_host",
    "auth_type",
    "client_tls_sslmode",
    "server_tls_sslmode",
)
# SQL of whoever runs the pooler, which may say anything; no other setting here can hold a secret.
QUERIES = ("server_reset_query", "server_check_query")
