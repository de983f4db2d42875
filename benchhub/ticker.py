"""The ticker's Celery application: it sends ticks by the clock and does nothing else.

It reads the settings without setting up Django, models and SSH, which it would never use: half of its memory.
"""

import os
from pathlib import Path

from celery import Celery

from benchhub import heartbeat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchhub.settings")

app = Celery("benchhub", fixups=set())
app.config_from_object("django.conf:settings", namespace="CELERY")
if "HEARTBEAT_FILE" in os.environ:
    heartbeat.keep(Path(os.environ["HEARTBEAT_FILE"]))
