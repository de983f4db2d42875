from django.urls import path

from . import views

urlpatterns = [
    path("experiments/<int:pk>/again", views.again, name="again"),
    path("runs/<int:pk>/", views.run, name="run"),
    path("runs/<int:pk>/evidence/<path:name>", views.evidence, name="evidence"),
]
