# Two images: `app` is web, worker, ticker and prepare; `target` is a host to try BenchHub on.

FROM python:3.11-slim-bookworm AS app
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 STATIC_ROOT=/srv/static
WORKDIR /srv/benchhub
COPY requirements.txt .
RUN pip install --no-cache-dir --only-binary :all: -r requirements.txt
COPY . .
RUN SECRET_KEY=unused python manage.py collectstatic --noinput
RUN useradd --system --no-create-home --uid 10001 benchhub
USER benchhub

# The image of the warehouse brings PostgreSQL with psql and pgbench; a target needs sshd beside them.
FROM postgres:18-bookworm AS target
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openssh-server \
    && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_*
COPY docker/target.sh /usr/local/bin/target.sh
USER postgres
ENTRYPOINT []
