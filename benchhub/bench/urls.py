from django.urls import path

from . import views

urlpatterns = [
    path("runs/<int:pk>/", views.run, name="run"),
    path("runs/<int:pk>/evidence/<path:name>", views.evidence, name="evidence"),
]
