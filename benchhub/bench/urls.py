from django.urls import path

from .additions import views as additions
from .inspection import views as inspection
from .operations import views as operations
from .plan import views as plan
from .queue import views as queue
from .results.imports import views as imports
from .run_page import views as run_page
from .tuning import views as tuning
from .webhooks import views as webhooks

urlpatterns = [
    path("health", operations.health, name="health"),
    path("metrics", operations.metrics, name="metrics"),
    path("archive/", operations.archive, name="archive"),
    path("standstill", operations.standstill, name="standstill"),
    path("instances/<int:pk>/test", inspection.instance_test, name="instance-test"),
    path("instances/<int:pk>/test/ask", inspection.ask, name="instance-test-ask"),
    path("experiments/new", plan.experiment_new, name="experiment-new"),
    path("experiments/plan", plan.experiment_plan, name="experiment-plan"),
    path("experiments/presets", plan.presets_shown, name="presets"),
    path("tuning/new", tuning.series_new, name="tuning-new"),
    path("tuning/plan", tuning.series_plan, name="tuning-plan"),
    path("designs/<int:pk>/again", plan.design_again, name="design-again"),
    path("designs/<int:pk>/cancel", plan.design_cancel, name="design-cancel"),
    path("experiments/<int:pk>/again", plan.again, name="again"),
    path("experiments/<int:pk>/cancel", plan.experiment_cancel, name="experiment-cancel"),
    path("experiments/<int:pk>/recurrence/edit", additions.recurrence_edit, name="recurrence-edit"),
    path("experiments/<int:pk>/recurrence/pause", additions.recurrence_pause, name="recurrence-pause"),
    path("experiments/<int:pk>/recurrence/resume", additions.recurrence_resume, name="recurrence-resume"),
    path("experiments/<int:pk>/recurrence/end", additions.recurrence_end, name="recurrence-end"),
    path("results/import", imports.results_import, name="results-import"),
    path("queue/", queue.queue_shown, name="queue"),
    path("experiments/<int:pk>/pause", queue.experiment_pause, name="experiment-pause"),
    path("experiments/<int:pk>/resume", queue.experiment_resume, name="experiment-resume"),
    path("experiments/<int:pk>/move", queue.experiment_move, name="experiment-move"),
    path("experiments/<int:pk>/policy", queue.experiment_policy, name="experiment-policy"),
    path("experiments/<int:pk>/rerun", queue.experiment_rerun, name="experiment-rerun"),
    path("experiments/<int:pk>/times", queue.times, {"kind": "experiment"}, name="experiment-times"),
    path("experiments/<int:pk>/times/once", queue.once, {"kind": "experiment"}, name="experiment-times-once"),
    path("experiments/<int:pk>/times/weekly", queue.weekly, {"kind": "experiment"}, name="experiment-times-weekly"),
    path("hosts/<int:pk>/pause", queue.host_pause, name="host-pause"),
    path("hosts/<int:pk>/resume", queue.host_resume, name="host-resume"),
    path("hosts/<int:pk>/times", queue.times, {"kind": "host"}, name="host-times"),
    path("hosts/<int:pk>/times/once", queue.once, {"kind": "host"}, name="host-times-once"),
    path("hosts/<int:pk>/times/weekly", queue.weekly, {"kind": "host"}, name="host-times-weekly"),
    path("times/<int:pk>/remove", queue.remove_once, name="time-remove"),
    path("windows/<int:pk>/remove", queue.remove_weekly, name="window-remove"),
    path("experiments/<int:pk>/repeats", plan.experiment_repeats, name="experiment-repeats"),
    path("runs/<int:pk>/set-aside", run_page.run_set_aside, name="run-set-aside"),
    path("runs/<int:pk>/put-back", run_page.run_put_back, name="run-put-back"),
    path("runs/<int:pk>/telemetry/add", run_page.run_telemetry_add, name="run-telemetry-add"),
    path("runs/<int:pk>/telemetry/remove", run_page.run_telemetry_remove, name="run-telemetry-remove"),
    path("runs/<int:pk>/rerun", queue.run_rerun, name="run-rerun"),
    path("runs/<int:pk>/parts/<str:name>", run_page.run_part, name="run-part"),
    path("runs/<int:pk>/live", run_page.run_live, name="run-live"),
    path("runs/<int:pk>/log/<str:stream>", run_page.run_log, name="run-log"),
    path("webhooks/", webhooks.webhooks, name="webhooks"),
    path("webhooks/add", webhooks.add, name="webhook-add"),
    path("webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path("webhooks/<int:pk>/edit", webhooks.edit, name="webhook-edit"),
    path("webhooks/<int:pk>/delete", webhooks.delete, name="webhook-delete"),
    path("runs/<int:pk>/", run_page.run, name="run"),
    path("runs/<int:pk>/cancel", plan.run_cancel, name="run-cancel"),
    path("runs/<int:pk>/bundle.tar.gz", run_page.run_bundle, name="run-bundle"),
    path("runs/<int:pk>/series.csv", run_page.run_series, name="run-series"),
    path("runs/<int:pk>/latency.csv", run_page.run_latency, name="run-latency"),
    path("runs/<int:pk>/segments.csv", run_page.run_segments, name="run-segments"),
    path("runs/<int:pk>/telemetry.csv", run_page.run_telemetry, name="run-telemetry"),
    path("runs/<int:pk>/evidence/<path:name>", run_page.evidence, name="evidence"),
]
