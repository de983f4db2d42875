from django.urls import path

from .operations import views as operations_views
from .plan import designs, repeats, views
from .queue import times
from .queue import views as queue_views
from .results import aside
from .run_page import bundle_view
from .run_page import csv as run_page_csv
from .webhooks import views as webhooks_views

urlpatterns = [
    path("health", operations_views.health, name="health"),
    path("metrics", operations_views.metrics, name="metrics"),
    path("experiments/new", views.experiment_new, name="experiment-new"),
    path("experiments/plan", views.experiment_plan, name="experiment-plan"),
    path("experiments/presets", designs.presets_shown, name="presets"),
    path("designs/<int:pk>/", designs.design, name="design"),
    path("designs/<int:pk>/again", designs.design_again, name="design-again"),
    path("designs/<int:pk>/cancel", views.design_cancel, name="design-cancel"),
    path("experiments/<int:pk>/again", views.again, name="again"),
    path("experiments/<int:pk>/cancel", views.experiment_cancel, name="experiment-cancel"),
    path("queue/", queue_views.queue_shown, name="queue"),
    path("experiments/<int:pk>/pause", queue_views.experiment_pause, name="experiment-pause"),
    path("experiments/<int:pk>/resume", queue_views.experiment_resume, name="experiment-resume"),
    path("experiments/<int:pk>/move", queue_views.experiment_move, name="experiment-move"),
    path("experiments/<int:pk>/policy", queue_views.experiment_policy, name="experiment-policy"),
    path("experiments/<int:pk>/rerun", queue_views.experiment_rerun, name="experiment-rerun"),
    path("experiments/<int:pk>/times", times.times, {"kind": "experiment"}, name="experiment-times"),
    path("experiments/<int:pk>/times/once", times.once, {"kind": "experiment"}, name="experiment-times-once"),
    path("experiments/<int:pk>/times/weekly", times.weekly, {"kind": "experiment"}, name="experiment-times-weekly"),
    path("hosts/<int:pk>/pause", queue_views.host_pause, name="host-pause"),
    path("hosts/<int:pk>/resume", queue_views.host_resume, name="host-resume"),
    path("hosts/<int:pk>/times", times.times, {"kind": "host"}, name="host-times"),
    path("hosts/<int:pk>/times/once", times.once, {"kind": "host"}, name="host-times-once"),
    path("hosts/<int:pk>/times/weekly", times.weekly, {"kind": "host"}, name="host-times-weekly"),
    path("times/<int:pk>/remove", times.remove_once, name="time-remove"),
    path("windows/<int:pk>/remove", times.remove_weekly, name="window-remove"),
    path("experiments/<int:pk>/repeats", repeats.experiment_repeats, name="experiment-repeats"),
    path("runs/<int:pk>/set-aside", aside.run_set_aside, name="run-set-aside"),
    path("runs/<int:pk>/put-back", aside.run_put_back, name="run-put-back"),
    path("runs/<int:pk>/rerun", queue_views.run_rerun, name="run-rerun"),
    path("runs/<int:pk>/log/<str:stream>", queue_views.run_log, name="run-log"),
    path("webhooks/", webhooks_views.webhooks, name="webhooks"),
    path("webhooks/add", webhooks_views.add, name="webhook-add"),
    path("webhooks/<int:pk>/", webhooks_views.webhook, name="webhook"),
    path("webhooks/<int:pk>/edit", webhooks_views.edit, name="webhook-edit"),
    path("webhooks/<int:pk>/delete", webhooks_views.delete, name="webhook-delete"),
    path("runs/<int:pk>/", views.run, name="run"),
    path("runs/<int:pk>/cancel", views.run_cancel, name="run-cancel"),
    path("runs/<int:pk>/bundle.tar.gz", bundle_view.run_bundle, name="run-bundle"),
    path("runs/<int:pk>/series.csv", run_page_csv.run_series, name="run-series"),
    path("runs/<int:pk>/latency.csv", run_page_csv.run_latency, name="run-latency"),
    path("runs/<int:pk>/evidence/<path:name>", views.evidence, name="evidence"),
]
