from django.urls import path

from . import views, views_vitals

urlpatterns = [
    path("health", views_vitals.health, name="health"),
    path("metrics", views_vitals.metrics, name="metrics"),
    path("experiments/new", views.experiment_new, name="experiment-new"),
    path("experiments/plan", views.experiment_plan, name="experiment-plan"),
    path("experiments/<int:pk>/again", views.again, name="again"),
    path("experiments/<int:pk>/cancel", views.experiment_cancel, name="experiment-cancel"),
    path("runs/<int:pk>/", views.run, name="run"),
    path("runs/<int:pk>/cancel", views.run_cancel, name="run-cancel"),
    path("runs/<int:pk>/evidence/<path:name>", views.evidence, name="evidence"),
]
