"""The Celery application. The broker only wakes workers: the runs table is the queue (bench/queue/queue.py)."""

import logging
import os
from pathlib import Path

from celery import Celery
from kombu.exceptions import OperationalError
from kombu.transport.redis import Channel, Transport

from benchhub import heartbeat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchhub.settings")

logger = logging.getLogger(__name__)
app = Celery("benchhub")
# A page that wakes a worker does not wait for a broker that is down.
IMPATIENT = {
    "socket_timeout": 2,
    "socket_connect_timeout": 2,
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
}
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["benchhub.bench.execute"])


class ForgivingChannel(Channel):
    """A channel whose worker outlives the connection it had: messages only wake workers, and none has to be put back.

    Kombu 5.7 puts back and acknowledges what is in hand on connections that have been given up already, and the
    AttributeError that follows ends the worker.
    """

    do_restore = False

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        if self.connection is not None:
            super().basic_ack(delivery_tag, multiple)  # type: ignore[no-untyped-call]  # kombu has no types


Transport.Channel = ForgivingChannel
# HEARTBEAT_FILE: where worker and ticker leave signs of life for health checks.
if "HEARTBEAT_FILE" in os.environ:
    heartbeat.keep(Path(os.environ["HEARTBEAT_FILE"]))


def wake(*run_ids: int) -> None:
    """Ask a worker to look now. Without a broker nothing is lost: the ticker's next tick comes in seconds."""
    try:
        with app.connection_for_write(transport_options=IMPATIENT) as connection:
            app.send_task("bench.tick", kwargs={"run_ids": run_ids}, retry=False, connection=connection)
    except OperationalError as error:
        logger.warning("The broker cannot be reached (%s); the next tick will do.", error)
