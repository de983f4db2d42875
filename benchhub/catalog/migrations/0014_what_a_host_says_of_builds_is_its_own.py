"""The settings that a server knows belong to its cluster, and builds are told apart by their version too."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def give_to_clusters(apps: Any, _schema: Any) -> None:
    """Give each cluster that was made what was noted of its build."""
    clusters = apps.get_model("catalog", "Cluster").objects.filter(made_at__isnull=False)
    parameters = apps.get_model("catalog", "ClusterParameters").objects
    by_build = {row.build_id: row for row in apps.get_model("catalog", "BuildParameters").objects.all()}
    for pk, build in clusters.values_list("pk", "instance__build"):
        if row := by_build.get(build):
            parameters.create(cluster_id=pk, parameters=row.parameters, libraries=row.libraries)


def give_to_builds(apps: Any, _schema: Any) -> None:
    builds = apps.get_model("catalog", "BuildParameters").objects
    for row in apps.get_model("catalog", "ClusterParameters").objects.select_related("cluster__instance"):
        described = {"parameters": row.parameters, "libraries": row.libraries}
        builds.get_or_create(build_id=row.cluster.instance.build_id, defaults=described)


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0013_prices_are_taken_back"),
    ]

    operations = [
        migrations.CreateModel(
            name="ClusterParameters",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("parameters", models.JSONField(default=dict)),
                (
                    "libraries",
                    models.JSONField(blank=True, default=list, help_text="Those that may be preloaded."),
                ),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="server_parameters",
                        to="catalog.cluster",
                    ),
                ),
            ],
            options={"verbose_name_plural": "cluster parameters"},
        ),
        migrations.RunPython(give_to_clusters, give_to_builds, elidable=True),
        migrations.DeleteModel(name="BuildParameters"),
        migrations.AlterField(
            model_name="pgbuild",
            name="binary_digest",
            field=models.CharField(max_length=64),
        ),
        migrations.AddConstraint(
            model_name="pgbuild",
            constraint=models.UniqueConstraint(fields=("binary_digest", "version"), name="build_once"),
        ),
    ]
