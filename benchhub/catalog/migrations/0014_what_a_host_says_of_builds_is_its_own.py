"""The settings that a server knows belong to its cluster, and builds are told apart by their version too."""

import hashlib
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


def read_shared_ones_anew(apps: Any, _schema: Any) -> None:
    """Have workers ask the clusters of builds that several hosts have: any of those hosts may have said what is noted.

    A make of a cluster that is there leaves its data alone. Until then what is noted stands, so no run is refused.
    """
    clusters = apps.get_model("catalog", "Cluster").objects
    hosts = models.Count("instance__host", distinct=True)
    shared = clusters.order_by().values("instance__build").annotate(hosts=hosts).filter(hosts__gt=1)
    suspect = clusters.filter(made_at__isnull=False, instance__build__in=shared.values("instance__build"))
    suspect.exclude(wanted="remove").update(wanted="make", visit_until=None)


def tell_builds_apart(apps: Any, _schema: Any) -> None:
    """Give builds that differ in their version alone a digest each, as there may be one only of each before this."""
    builds, digests = apps.get_model("catalog", "PgBuild").objects, set()
    for pk, digest, version in builds.order_by("pk").values_list("pk", "binary_digest", "version"):
        if digest in digests:
            builds.filter(pk=pk).update(binary_digest=hashlib.sha256(f"{digest} {version}".encode()).hexdigest())
        digests.add(digest)


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
        migrations.RunPython(read_shared_ones_anew, migrations.RunPython.noop, elidable=True),
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
        migrations.RunPython(migrations.RunPython.noop, tell_builds_apart, elidable=True),
    ]
