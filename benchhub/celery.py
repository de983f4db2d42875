"""The Celery application. The broker only wakes workers: the runs table is the queue (bench/execution.py)."""

import logging
import os
from pathlib import Path

from celery import Celery
from kombu.exceptions import OperationalError

from benchhub import heartbeat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchhub.settings")

logger = logging.getLogger(__name__)
app = Celery("benchhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["benchhub.bench"])
# HEARTBEAT_FILE: where worker and ticker leave signs of life for health checks.
if "HEARTBEAT_FILE" in os.environ:
    heartbeat.keep(Path(os.environ["HEARTBEAT_FILE"]))


def wake(*run_ids: int) -> None:
    """Ask a worker to look now. Without a broker nothing is lost: the ticker's next tick comes in seconds."""
    try:
        app.send_task("bench.tick", kwargs={"run_ids": run_ids}, expires=60, retry=False)
    except OperationalError as error:
        logger.warning("The broker cannot be reached (%s); the next tick will do.", error)
