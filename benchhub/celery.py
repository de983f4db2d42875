"""The Celery application. The broker only wakes workers: the runs table is the queue (bench/execution.py)."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchhub.settings")

app = Celery("benchhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["benchhub.bench"])
