from django.urls import path

from .hardware import rates
from .hardware import views as hardware_views
from .hosts import views as hosts_views
from .instances import views as instances_views
from .licences import views as licences_views
from .shared import retire
from .sheets import views as sheets_views
from .workloads import page as workloads_page
from .workloads import views as workloads_views

urlpatterns = [
    path("hosts/", hosts_views.hosts, name="hosts"),
    path("hosts/add", hosts_views.add, name="host-add"),
    path("hosts/<int:pk>/", hosts_views.host, name="host"),
    path("hosts/<int:pk>/edit", hosts_views.edit, name="host-edit"),
    path("hosts/<int:pk>/look", hosts_views.look, name="host-look"),
    path("hosts/<int:pk>/approve", hosts_views.approve, name="host-approve"),
    path("hosts/<int:pk>/probe", hosts_views.probe, name="host-probe"),
    path("instances/", instances_views.instances, name="instances"),
    path("instances/add", instances_views.add, name="instance-add"),
    path("instances/<int:pk>/edit", instances_views.edit, name="instance-edit"),
    path("hardware/", hardware_views.hardware_list, name="hardware-list"),
    path("hardware/add", hardware_views.hardware_add, name="hardware-add"),
    path("hardware/<int:pk>/revise", hardware_views.hardware_revise, name="hardware-revise"),
    path("prices/", hardware_views.prices, name="prices"),
    path("prices/add", hardware_views.price_add, name="price-add"),
    path("prices/unit", hardware_views.price_unit, name="price-unit"),
    path("exchange-rates/", rates.rates, name="exchange-rates"),
    path("exchange-rates/add", rates.add, name="exchange-rate-add"),
    path("price-sheets/", sheets_views.sheets, name="price-sheets"),
    path("price-sheets/add", sheets_views.add, name="price-sheet-add"),
    path("price-sheets/preview", sheets_views.preview, name="price-sheet-preview"),
    path("price-sheets/<int:pk>/", sheets_views.sheet, name="price-sheet"),
    path("price-sheets/<int:pk>/revise", sheets_views.revise, name="price-sheet-revise"),
    path("price-sheets/<int:pk>/csv", sheets_views.csv_file, name="price-sheet-csv"),
    path("licence-models/", licences_views.licence_models, name="licence-models"),
    path("licence-models/add", licences_views.add, name="licence-model-add"),
    path("licence-models/preview", licences_views.preview, name="licence-model-preview"),
    path("licence-models/<int:pk>/revise", licences_views.revise, name="licence-model-revise"),
    path("configurations/", workloads_views.configurations, name="configurations"),
    path("configurations/add", workloads_views.configuration_add, name="configuration-add"),
    path("configurations/<int:pk>/revise", workloads_views.configuration_revise, name="configuration-revise"),
    path("workloads/", workloads_views.workloads, name="workloads"),
    path("workloads/add", workloads_views.workload_add, name="workload-add"),
    path("workloads/<int:pk>/", workloads_page.workload, name="workload"),
    path("workloads/<int:pk>/revise", workloads_views.workload_revise, name="workload-revise"),
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
        path(f"{folder}/<int:pk>/retire", retire.retire, {"kind": kind}, name=f"{kind}-retire"),
        path(f"{folder}/<int:pk>/show-again", retire.show_again, {"kind": kind}, name=f"{kind}-show-again"),
    ]
for kind in ("instance", "host"):
    urlpatterns.append(path(f"{kind}s/<int:pk>/delete", retire.delete, {"kind": kind}, name=f"{kind}-delete"))
