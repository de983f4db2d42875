from django.urls import path

from . import comparable, compare, published, steps, views

urlpatterns = [
    path("", views.home, name="home"),
    path("experiments/", views.experiments, name="experiments"),
    path("compare/", compare.compare, name="compare"),
    path("compare/declarations/<int:pk>/withdraw", comparable.withdraw, name="comparability-withdraw"),
    path("compare/steps/", steps.steps, name="tuning-steps"),
    path("published/", published.published, name="published"),
    path("published/<slug:slug>/", published.report, name="published-report"),
    path("experiments/<int:pk>/", views.experiment, name="experiment"),
    path("experiments/<int:pk>/curve.csv", views.curve_csv, name="experiment-curve"),
]
