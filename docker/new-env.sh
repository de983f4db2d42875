#!/bin/sh
# Write .env, which docker-compose.yml reads, with fresh secrets: sh docker/new-env.sh
# It refuses to replace a file that is there, as FIELD_KEYS may be in it.
set -euC
umask 077

secret() {
    head -c "$1" /dev/urandom | base64 | tr '+/' '-_' | tr -d '\n'
}

cat > "${1:-.env}" <<END
# Keep FIELD_KEYS with every backup: without them the keys that BenchHub logs in to hosts with are lost.
FIELD_KEYS=$(secret 32)
SECRET_KEY=$(secret 48)
POSTGRES_PASSWORD=$(secret 24)
APP_PASSWORD=$(secret 24)
BROKER_PASSWORD=$(secret 24)

# For Prometheus: lets whoever sends it read /metrics and /health.
METRICS_TOKEN=$(secret 24)

# The first user, made at the first start if there is none yet. Later changes here change nothing.
ADMIN_USERNAME=admin
ADMIN_PASSWORD=$(secret 12)

# Where people reach BenchHub. As it stands: on this machine only.
LISTEN=127.0.0.1:8000
ALLOWED_HOSTS=localhost
TRUSTED_ORIGINS=
HTTPS=0
END
