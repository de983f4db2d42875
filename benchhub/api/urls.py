from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import APIRootView, DefaultRouter

from . import accounts
from .bench import deliveries, designs, experiments, queue, recurrences, runs, systems, times, webhooks
from .catalog import (
    clusters,
    configurations,
    hardware,
    hosts,
    inspections,
    instances,
    licences,
    prices,
    sheets,
    source_builds,
    workloads,
)
from .core import problems
from .core.authentication import HasScope
from .core.views import View
from .reports import (
    comparisons,
    curves,
    declarations,
    kept,
    laboratory,
    leaderboards,
    links,
    published,
    series,
    snapshots,
    tuning,
)

app_name = "api"


class Root(APIRootView):
    """Everything that BenchHub does, for programs. See schema/ for all of it."""

    authentication_classes = View.authentication_classes
    permission_classes = (HasScope,)
    _ignore_model_permissions = True
    schema = None


class Schema(SpectacularAPIView):
    """The OpenAPI 3.1 description of everything under /api/v1/."""

    authentication_classes = View.authentication_classes
    permission_classes = (HasScope,)


class Router(DefaultRouter):
    APIRootView = Root
    include_format_suffixes = False


router = Router()
router.register("hosts", hosts.Hosts, "host")
router.register("builds", instances.Builds, "pgbuild")
router.register("instances", instances.Instances, "instance")
router.register("inspections", inspections.Inspections, "inspection")
router.register("clusters", clusters.Clusters, "cluster")
router.register("source-builds", source_builds.SourceBuilds, "sourcebuild")
router.register("hardware", hardware.HardwareProfiles, "hardware")
router.register("configurations", configurations.Configurations, "configuration")
router.register("workloads", workloads.Workloads, "workload")
router.register("licence-models", licences.LicenceModels, "licencemodel")
router.register("price-sheets", sheets.Sheets, "pricesheet")
router.register("prices", prices.Prices, "listprice")
router.register("exchange-rates", prices.Rates, "exchangerate")
router.register("systems", systems.Systems, "system")
router.register("experiments", experiments.Experiments, "experiment")
router.register("queue", queue.QueueShown, "queue")
router.register("runs", runs.Runs, "run")
router.register("presets", designs.Presets, "preset")
router.register("designs", designs.Designs, "design")
router.register("reservations", times.Reservations, "reservation")
router.register("windows", times.Windows, "window")
router.register("recurrences", recurrences.Recurrences, "recurrence")
router.register("webhooks", webhooks.Webhooks, "webhook")
router.register("notices", webhooks.Notices, "notice")
router.register("deliveries", deliveries.Deliveries, "delivery")
router.register("curves", curves.Curves, "curve")
router.register("comparisons", comparisons.Comparisons, "compared")
router.register("tuning-series", series.TuningSeriesView, "tuningseries")
router.register("tuning-steps", tuning.TuningSteps, "steps")
router.register("laboratory", laboratory.Laboratories, "laboratory")
router.register("leaderboard", leaderboards.Leaderboards, "leaderboard")
router.register("declarations", declarations.Declarations, "comparability")
router.register("kept-comparisons", kept.KeptComparisons, "comparison")
router.register("snapshots", snapshots.Snapshots, "snapshot")
router.register("links", links.Links, "link")
router.register("account", accounts.Account, "account")
router.register("users", accounts.Users, "user")
router.register("tokens", accounts.Tokens, "token")
router.register("audit-log", accounts.AuditLog, "entry")
router.register("published-reports", published.PublishedReports, "published")

urlpatterns = [
    *router.urls,
    path("schema/", Schema.as_view(), name="schema"),
    re_path(r"^[\s\S]*$", problems.not_found, name="nowhere"),
]
