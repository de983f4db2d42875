from django.urls import path

from .board import views as board
from .comparison import views as comparison
from .designs import views as designs
from .experiments import views as experiments
from .laboratory import views as laboratory
from .leaderboard import views as leaderboard
from .published import views as published
from .recurrences import views as recurrences
from .search import views as search
from .sharing import link_views as links
from .sharing import views as sharing
from .tuning import views as tuning

urlpatterns = [
    path("", board.home, name="home"),
    path("calendar/", board.calendar, name="calendar"),
    path("calendar.csv", board.calendar_csv, name="calendar-csv"),
    path("leaderboard/", leaderboard.leaderboard, name="leaderboard"),
    path("leaderboard.csv", leaderboard.leaderboard_csv, name="leaderboard-csv"),
    path("search/", search.search, name="search"),
    path("experiments/", experiments.experiments, name="experiments"),
    path("compare/", comparison.compare, name="compare"),
    path("comparisons/", sharing.comparisons, name="comparisons"),
    path("comparisons/new", sharing.comparison_new, name="comparison-new"),
    path("comparisons/<int:pk>/", sharing.comparison, name="comparison"),
    path("comparisons/<int:pk>/edit", sharing.comparison_edit, name="comparison-edit"),
    path("comparisons/<int:pk>/keep", sharing.comparison_keep, name="comparison-keep"),
    path("comparisons/<int:pk>/publish", sharing.comparison_publish, name="comparison-publish"),
    path("snapshots/<int:pk>/", sharing.snapshot, name="snapshot"),
    path("snapshots/<int:pk>/report", sharing.snapshot, {"as_report": True}, name="snapshot-report"),
    path("snapshots/<int:pk>/today", sharing.snapshot_today, name="snapshot-today"),
    path("snapshots/<int:pk>/links/new", sharing.link_new, name="link-new"),
    path("snapshots/<int:pk>/<str:name>", sharing.snapshot_file, name="snapshot-file"),
    path("links/<int:pk>/pause", sharing.link_pause, name="link-pause"),
    path("links/<int:pk>/resume", sharing.link_resume, name="link-resume"),
    path("links/<int:pk>/revoke", sharing.link_revoke, name="link-revoke"),
    path("s/<str:token>/", links.page, name="shared"),
    path("s/<str:token>/report", links.page, {"as_report": True}, name="shared-report"),
    path("s/<str:token>/card.png", links.card, name="shared-card"),
    path("s/<str:token>/<str:name>", links.file, name="shared-file"),
    path("s/<str:token>/k/<str:key>/", links.page, name="shared-open"),
    path("s/<str:token>/k/<str:key>/report", links.page, {"as_report": True}, name="shared-open-report"),
    path("s/<str:token>/k/<str:key>/<str:name>", links.file, name="shared-open-file"),
    path("compare/declarations/<int:pk>/withdraw", comparison.withdraw, name="comparability-withdraw"),
    path("compare/steps/", comparison.steps, name="tuning-steps"),
    path("tuning/", tuning.series_list, name="tuning-list"),
    path("tuning/<int:pk>/", tuning.series, name="tuning-series"),
    path("tuning/<int:pk>/<str:table>.csv", tuning.series_csv, name="tuning-csv"),
    path("tuning/<int:pk>/settings/<int:place>/<str:name>", tuning.series_settings, name="tuning-settings"),
    path("compare/laboratory/", laboratory.laboratory, name="laboratory"),
    path("published/", published.published, name="published"),
    path("published/<slug:slug>/", published.report, name="published-report"),
    path("published/<slug:slug>/publish", sharing.published_publish, name="published-publish"),
    path("designs/<int:pk>/", designs.design, name="design"),
    path("experiments/<int:pk>/", experiments.experiment, name="experiment"),
    path("experiments/<int:pk>/live", experiments.experiment_live, name="experiment-live"),
    path("experiments/<int:pk>/tags", experiments.tags, name="experiment-tags"),
    path("experiments/<int:pk>/recurrence", recurrences.recurrence, name="recurrence"),
    path("experiments/<int:pk>/curve.csv", experiments.curve_csv, name="experiment-curve"),
]
