from django.urls import path

from .comparison import views as comparison_views
from .experiments import tags, views
from .published import views as published_views
from .sharing import pages, shared

urlpatterns = [
    path("", views.home, name="home"),
    path("experiments/", views.experiments, name="experiments"),
    path("compare/", comparison_views.compare, name="compare"),
    path("comparisons/", pages.comparisons, name="comparisons"),
    path("comparisons/new", pages.comparison_new, name="comparison-new"),
    path("comparisons/<int:pk>/", pages.comparison, name="comparison"),
    path("comparisons/<int:pk>/edit", pages.comparison_edit, name="comparison-edit"),
    path("comparisons/<int:pk>/keep", pages.comparison_keep, name="comparison-keep"),
    path("comparisons/<int:pk>/publish", pages.comparison_publish, name="comparison-publish"),
    path("snapshots/<int:pk>/", pages.snapshot, name="snapshot"),
    path("snapshots/<int:pk>/report", pages.snapshot, {"as_report": True}, name="snapshot-report"),
    path("snapshots/<int:pk>/today", pages.snapshot_today, name="snapshot-today"),
    path("snapshots/<int:pk>/links/new", pages.link_new, name="link-new"),
    path("snapshots/<int:pk>/<str:name>", pages.snapshot_file, name="snapshot-file"),
    path("links/<int:pk>/pause", pages.link_pause, name="link-pause"),
    path("links/<int:pk>/resume", pages.link_resume, name="link-resume"),
    path("links/<int:pk>/revoke", pages.link_revoke, name="link-revoke"),
    path("s/<str:token>/", shared.page, name="shared"),
    path("s/<str:token>/report", shared.page, {"as_report": True}, name="shared-report"),
    path("s/<str:token>/card.png", shared.card, name="shared-card"),
    path("s/<str:token>/<str:name>", shared.file, name="shared-file"),
    path("s/<str:token>/k/<str:key>/", shared.page, name="shared-open"),
    path("s/<str:token>/k/<str:key>/report", shared.page, {"as_report": True}, name="shared-open-report"),
    path("s/<str:token>/k/<str:key>/<str:name>", shared.file, name="shared-open-file"),
    path("compare/declarations/<int:pk>/withdraw", comparison_views.withdraw, name="comparability-withdraw"),
    path("compare/steps/", comparison_views.steps, name="tuning-steps"),
    path("published/", published_views.published, name="published"),
    path("published/<slug:slug>/", published_views.report, name="published-report"),
    path("published/<slug:slug>/publish", pages.published_publish, name="published-publish"),
    path("experiments/<int:pk>/", views.experiment, name="experiment"),
    path("experiments/<int:pk>/tags", tags.tags, name="experiment-tags"),
    path("experiments/<int:pk>/curve.csv", views.curve_csv, name="experiment-curve"),
]
