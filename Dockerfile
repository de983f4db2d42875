# Two images: `app` is web, worker, ticker and prepare; `target` is a host to try BenchHub on.

FROM python:3.11-slim-bookworm AS app
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 STATIC_ROOT=/srv/static
WORKDIR /srv/benchhub
# Shared pages are printed to PDF by Chromium: some 700 MB, which --build-arg PDF=0 leaves out.
ARG PDF=1
RUN if [ "$PDF" = 1 ]; then \
        apt-get update \
        && apt-get install --yes --no-install-recommends chromium-headless-shell fonts-dejavu-core \
        && rm -rf /var/lib/apt/lists/*; \
    fi
# A container without privileges cannot give Chromium a sandbox of its own: it is the sandbox.
ENV CHROMIUM_SANDBOX=0
COPY requirements.txt .
RUN pip install --no-cache-dir --only-binary :all: -r requirements.txt
COPY . .
# What a read-only image cannot compile at each start; and a clone whose files only its owner may read builds as well.
RUN python -m compileall -q . && chmod -R a+rX .
RUN SECRET_KEY=unused python manage.py collectstatic --noinput
RUN useradd --system --no-create-home --uid 10001 benchhub && install -d -o benchhub -m 700 /archive
USER benchhub

# The image of the warehouse brings PostgreSQL with psql and pgbench; a target needs sshd beside them.
FROM postgres:18-bookworm AS target
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openssh-server \
    && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_*
COPY docker/target.sh /usr/local/bin/target.sh
RUN chmod 755 /usr/local/bin/target.sh
USER postgres
ENTRYPOINT []
