"""Take the doubt that a result was imported away: its run says so. Judge such results as those of own runs."""

from typing import Any

from django.db import migrations, models

from benchhub.analysis.doubts import steadiness, verdict
from benchhub.analysis.doubts.verdict import RunFacts

CODE = "brought_in"


def make_provenance(apps: Any, _: Any) -> None:
    results = apps.get_model("bench", "Result").objects.filter(run__delivery__isnull=False).select_related("run")
    for result in results.iterator():
        doubts = [doubt for doubt in result.doubts if doubt["code"] != CODE]
        if len(doubts) < len(result.doubts):
            result.doubts = doubts + _doubts_that_are_new(result, doubts)
            result.save(update_fields=["doubts"])


def _doubts_that_are_new(result: Any, doubts: list[dict[str, str]]) -> list[dict[str, str]]:
    texts = {doubt["text"] for doubt in doubts}
    today = verdict.of_run(_facts(result)).doubts
    return [{"code": doubt.code, "text": doubt.text} for doubt in today if doubt.text not in texts]


def _facts(result: Any) -> RunFacts:
    values = {name: measure["value"] for name, measure in result.measures.items()}
    series = result.run.series.filter(metric=result.unit.lower()).first()
    transactions = values.get("transactions")
    return RunFacts(
        clients=result.run.clients,
        duration_s=result.run.spec.get("duration_s") or 0,
        steadiness=steadiness.of_series(series.values, series.step_s) if series else None,
        transactions=None if transactions is None else round(transactions),
        failed_transactions=round(values.get("failed_transactions", 0)),
        covered_s=len(series.values) * series.step_s if series else None,
    )


class Migration(migrations.Migration):
    dependencies = [("bench", "0001_what_happens")]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="source",
            field=models.CharField(blank=True, help_text="Where an imported run comes from.", max_length=300),
        ),
        migrations.RunPython(make_provenance, migrations.RunPython.noop, elidable=True),
    ]
