from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import include, path


@login_not_required
def alive(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


def not_taken(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not isinstance(exception, RequestDataTooBig):
        return render(request, "400.html", status=400)
    context = {"limit": settings.DATA_UPLOAD_MAX_MEMORY_SIZE, "size": int(request.META["CONTENT_LENGTH"])}
    return render(request, "400.html", context, status=413)


handler400 = not_taken
urlpatterns = [
    path("alive", alive, name="alive"),
    path("api/v1/", include("benchhub.api.reference.urls")),
    path("api/v1/", include("benchhub.api.urls")),
    path("", include("benchhub.accounts.urls")),
    path("", include("benchhub.catalog.urls")),
    path("", include("benchhub.bench.urls")),
    path("", include("benchhub.reports.urls")),
]
