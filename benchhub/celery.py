"""The Celery application. The broker only wakes workers: the runs table is the queue (bench/execution.py)."""

import logging
import os

from celery import Celery
from kombu.exceptions import OperationalError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchhub.settings")

logger = logging.getLogger(__name__)
app = Celery("benchhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["benchhub.bench"])


def wake(*run_ids: int) -> None:
    """Ask a worker to look now. Without a broker nothing is lost: the ticker's next tick comes in seconds."""
    try:
        app.send_task("bench.tick", kwargs={"run_ids": run_ids}, expires=60, retry=False)
    except OperationalError as error:
        logger.warning("The broker cannot be reached (%s); the next tick will do.", error)
