from django.urls import path

from . import control, times, views, views_bundle, views_vitals

urlpatterns = [
    path("health", views_vitals.health, name="health"),
    path("metrics", views_vitals.metrics, name="metrics"),
    path("experiments/new", views.experiment_new, name="experiment-new"),
    path("experiments/plan", views.experiment_plan, name="experiment-plan"),
    path("experiments/<int:pk>/again", views.again, name="again"),
    path("experiments/<int:pk>/cancel", views.experiment_cancel, name="experiment-cancel"),
    path("queue/", control.queue_shown, name="queue"),
    path("experiments/<int:pk>/pause", control.experiment_pause, name="experiment-pause"),
    path("experiments/<int:pk>/resume", control.experiment_resume, name="experiment-resume"),
    path("experiments/<int:pk>/move", control.experiment_move, name="experiment-move"),
    path("experiments/<int:pk>/policy", control.experiment_policy, name="experiment-policy"),
    path("experiments/<int:pk>/rerun", control.experiment_rerun, name="experiment-rerun"),
    path("experiments/<int:pk>/times", times.times, {"kind": "experiment"}, name="experiment-times"),
    path("experiments/<int:pk>/times/once", times.once, {"kind": "experiment"}, name="experiment-times-once"),
    path("experiments/<int:pk>/times/weekly", times.weekly, {"kind": "experiment"}, name="experiment-times-weekly"),
    path("hosts/<int:pk>/pause", control.host_pause, name="host-pause"),
    path("hosts/<int:pk>/resume", control.host_resume, name="host-resume"),
    path("hosts/<int:pk>/times", times.times, {"kind": "host"}, name="host-times"),
    path("hosts/<int:pk>/times/once", times.once, {"kind": "host"}, name="host-times-once"),
    path("hosts/<int:pk>/times/weekly", times.weekly, {"kind": "host"}, name="host-times-weekly"),
    path("times/<int:pk>/remove", times.remove_once, name="time-remove"),
    path("windows/<int:pk>/remove", times.remove_weekly, name="window-remove"),
    path("runs/<int:pk>/rerun", control.run_rerun, name="run-rerun"),
    path("runs/<int:pk>/log/<str:stream>", control.run_log, name="run-log"),
    path("runs/<int:pk>/", views.run, name="run"),
    path("runs/<int:pk>/cancel", views.run_cancel, name="run-cancel"),
    path("runs/<int:pk>/bundle.tar.gz", views_bundle.run_bundle, name="run-bundle"),
    path("runs/<int:pk>/evidence/<path:name>", views.evidence, name="evidence"),
]
