from django.urls import path

from .builds import views as builds
from .hardware import views as hardware
from .hardware.prices import views as prices
from .hosts import views as hosts
from .instances import views as instances
from .instances.clusters import views as clusters
from .licences import views as licences
from .shared import views as shared
from .sheets import views as sheets
from .workloads import views as workloads

urlpatterns = [
    path("hosts/", hosts.hosts, name="hosts"),
    path("hosts/add", hosts.add, name="host-add"),
    path("hosts/os-settings-helper", hosts.os_helper, name="os-settings-helper"),
    path("hosts/<int:pk>/", hosts.host, name="host"),
    path("hosts/<int:pk>/edit", hosts.edit, name="host-edit"),
    path("hosts/<int:pk>/look", hosts.look, name="host-look"),
    path("hosts/<int:pk>/approve", hosts.approve, name="host-approve"),
    path("hosts/<int:pk>/new-key", hosts.new_key, name="host-new-key"),
    path("hosts/<int:pk>/probe", hosts.probe, name="host-probe"),
    path("hosts/<int:pk>/builds/add", builds.add, name="source-build-add"),
    path("hosts/<int:pk>/builds/add-any", builds.add, {"has_any_source": True}, name="source-build-add-any"),
    path("builds/<int:pk>/", builds.source_build, name="source-build"),
    path("builds/<int:pk>/ask", builds.source_build_ask, name="source-build-ask"),
    path("builds/<int:pk>/remove", builds.source_build_remove, name="source-build-remove"),
    path("builds/<int:pk>/logs/<int:number>", builds.source_build_log, name="source-build-log"),
    path("instances/", instances.instances, name="instances"),
    path("instances/add", instances.add, name="instance-add"),
    path("instances/<int:pk>/edit", instances.edit, name="instance-edit"),
    path("instances/<int:pk>/cluster", clusters.cluster, name="cluster"),
    path("hosts/<int:pk>/clusters/add", clusters.cluster_add, name="cluster-add"),
    path("instances/<int:pk>/cluster/ask", clusters.cluster_ask, name="cluster-ask"),
    path("instances/<int:pk>/cluster/remove", clusters.cluster_remove, name="cluster-remove"),
    path("hardware/", hardware.hardware_list, name="hardware-list"),
    path("hardware/add", hardware.hardware_add, name="hardware-add"),
    path("hardware/<int:pk>/revise", hardware.hardware_revise, name="hardware-revise"),
    path("prices/", prices.prices, name="prices"),
    path("prices/add", prices.price_add, name="price-add"),
    path("prices/import", prices.prices_import, name="prices-import"),
    path("prices/<int:pk>/take-back", prices.price_take_back, name="price-take-back"),
    path("prices/unit", prices.price_unit, name="price-unit"),
    path("exchange-rates/", prices.rates, name="exchange-rates"),
    path("exchange-rates/add", prices.rate_add, name="exchange-rate-add"),
    path("price-sheets/", sheets.sheets, name="price-sheets"),
    path("price-sheets/add", sheets.add, name="price-sheet-add"),
    path("price-sheets/preview", sheets.preview, name="price-sheet-preview"),
    path("price-sheets/<int:pk>/", sheets.sheet, name="price-sheet"),
    path("price-sheets/<int:pk>/revise", sheets.revise, name="price-sheet-revise"),
    path("price-sheets/<int:pk>/csv", sheets.csv_file, name="price-sheet-csv"),
    path("licence-models/", licences.licence_models, name="licence-models"),
    path("licence-models/add", licences.add, name="licence-model-add"),
    path("licence-models/preview", licences.preview, name="licence-model-preview"),
    path("licence-models/<int:pk>/revise", licences.revise, name="licence-model-revise"),
    path("configurations/", workloads.configurations, name="configurations"),
    path("configurations/add", workloads.configuration_add, name="configuration-add"),
    path("configurations/<int:pk>/revise", workloads.configuration_revise, name="configuration-revise"),
    path("workloads/", workloads.workloads, name="workloads"),
    path("workloads/add", workloads.workload_add, name="workload-add"),
    path("workloads/<int:pk>/", workloads.workload, name="workload"),
    path("workloads/<int:pk>/revise", workloads.workload_revise, name="workload-revise"),
]

RETIRED = {
    "hardware": "hardware",
    "licence-model": "licence-models",
    "price-sheet": "price-sheets",
    "configuration": "configurations",
    "workload": "workloads",
    "instance": "instances",
}
for kind, folder in RETIRED.items():
    urlpatterns += [
        path(f"{folder}/<int:pk>/retire", shared.retire, {"kind": kind}, name=f"{kind}-retire"),
        path(f"{folder}/<int:pk>/show-again", shared.show_again, {"kind": kind}, name=f"{kind}-show-again"),
    ]
for kind in ("instance", "host"):
    urlpatterns.append(path(f"{kind}s/<int:pk>/delete", shared.delete, {"kind": kind}, name=f"{kind}-delete"))
