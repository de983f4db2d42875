from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import include, path


@login_not_required
def alive(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns = [
    path("alive", alive, name="alive"),
    path("api/v1/", include("benchhub.api.urls")),
    path("", include("benchhub.accounts.urls")),
    path("", include("benchhub.catalog.urls")),
    path("", include("benchhub.bench.urls")),
    path("", include("benchhub.reports.urls")),
]
