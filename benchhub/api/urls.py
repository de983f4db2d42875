from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import APIRootView, DefaultRouter

from . import (
    accounts,
    bench,
    catalogue,
    comparisons,
    curves,
    designs,
    ingest,
    licensing,
    queue,
    sharing,
    steps,
    times,
    webhooks,
    workloads,
)
from .core import problems
from .core.authentication import HasScope
from .core.views import View

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
router.register("hosts", catalogue.Hosts, "host")
router.register("builds", catalogue.Builds, "pgbuild")
router.register("instances", catalogue.Instances, "instance")
router.register("hardware", catalogue.Hardware, "hardware")
router.register("configurations", catalogue.Configurations, "configuration")
router.register("workloads", workloads.Workloads, "workload")
router.register("licence-models", licensing.LicenceModels, "licencemodel")
router.register("price-sheets", licensing.Sheets, "pricesheet")
router.register("prices", catalogue.Prices, "listprice")
router.register("exchange-rates", catalogue.Rates, "exchangerate")
router.register("systems", bench.Systems, "system")
router.register("experiments", bench.Experiments, "experiment")
router.register("queue", queue.QueueShown, "queue")
router.register("runs", bench.Runs, "run")
router.register("presets", designs.Presets, "preset")
router.register("designs", designs.Designs, "design")
router.register("reservations", times.Reservations, "reservation")
router.register("windows", times.Windows, "window")
router.register("webhooks", webhooks.Webhooks, "webhook")
router.register("notices", webhooks.Notices, "notice")
router.register("deliveries", ingest.Deliveries, "delivery")
router.register("curves", curves.Curves, "curve")
router.register("comparisons", comparisons.Comparisons, "compared")
router.register("tuning-steps", steps.TuningSteps, "steps")
router.register("declarations", comparisons.Declarations, "comparability")
router.register("kept-comparisons", sharing.KeptComparisons, "comparison")
router.register("snapshots", sharing.Snapshots, "snapshot")
router.register("links", sharing.Links, "link")
router.register("account", accounts.Account, "account")
router.register("users", accounts.Users, "user")
router.register("tokens", accounts.Tokens, "token")
router.register("audit-log", accounts.AuditLog, "entry")
router.register("published-reports", sharing.PublishedReports, "published")

urlpatterns = [
    *router.urls,
    path("schema/", Schema.as_view(), name="schema"),
    re_path(r"^[\s\S]*$", problems.not_found, name="nowhere"),
]
