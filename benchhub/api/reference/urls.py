"""Addresses of the reference; they are pages for people, so they stand outside of the API's own."""

from django.urls import path, re_path

from . import views

urlpatterns = [
    re_path(r"^docs/?$", views.contents, name="api-reference"),
    path("docs/<slug:name>/", views.resource, name="api-resource"),
]
