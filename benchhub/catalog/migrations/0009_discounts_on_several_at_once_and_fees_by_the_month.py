"""A discount names sellers, categories, kinds, lines at once; a line is paid by the month, or in another currency.

Saved discounts keep what they are on: the trigger that forbids rewriting them rests while it is written anew.
"""

from typing import Any

import django.contrib.postgres.fields
import django.core.validators
from django.db import migrations, models

COLUMNS = {"category": "of_categories", "source": "of_sellers", "line": "of_lines"}
FORWARD = "; ".join(
    (
        "ALTER TABLE catalog_pricesheetdiscount DISABLE TRIGGER append_only",
        *(
            f'UPDATE catalog_pricesheetdiscount SET {column} = "of" WHERE "on" = \'{scope}\''
            for scope, column in COLUMNS.items()
        ),
        "ALTER TABLE catalog_pricesheetdiscount ENABLE TRIGGER append_only",
    )
)


def names() -> Any:
    return django.contrib.postgres.fields.ArrayField(
        base_field=models.CharField(max_length=200), blank=True, default=list
    )


def price(**more: Any) -> Any:
    return models.DecimalField(decimal_places=6, max_digits=18, **more)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0008_know_hosts_by_brought_results")]
    operations = [
        *(
            migrations.AddField("pricesheetdiscount", name, names())
            for name in ("of_lines", "of_categories", "of_sellers", "of_kinds")
        ),
        migrations.RunSQL(FORWARD, migrations.RunSQL.noop),
        migrations.RemoveField("pricesheetdiscount", "on"),
        migrations.RemoveField("pricesheetdiscount", "of"),
        migrations.AddField(
            "pricesheetline",
            "charged",
            models.CharField(
                choices=[
                    ("once", "once"),
                    ("year", "each year of the term"),
                    ("month", "each month of the term"),
                ],
                default="once",
                max_length=5,
            ),
        ),
        migrations.AddField(
            "pricesheetline",
            "currency",
            models.CharField(
                blank=True,
                default="",
                max_length=3,
                validators=[django.core.validators.RegexValidator("^[A-Z]{3}$", "Use an ISO 4217 code: EUR.")],
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            "pricesheetline",
            "exchange_rate",
            models.DecimalField(blank=True, decimal_places=8, max_digits=18, null=True),
        ),
        migrations.AlterField("pricesheetline", "unit_price", price()),
        migrations.AlterField("pricesheetline", "contracted_price", price(blank=True, null=True)),
        migrations.AlterField("pricesheetline", "maintenance_price", price(default=0)),
        migrations.AlterField(
            "pricesheetline",
            "support",
            models.CharField(
                blank=True,
                choices=[
                    ("unsupported", "unsupported"),
                    ("bought", "support bought"),
                    ("included", "included in another line"),
                ],
                max_length=11,
            ),
        ),
        migrations.AlterField(
            "pricesheet",
            "rounded_per",
            models.CharField(
                choices=[
                    ("unit", "each unit price and line"),
                    ("line", "each line"),
                    ("column", "each column's total"),
                    ("total", "the grand total"),
                ],
                default="line",
                max_length=6,
            ),
        ),
        migrations.RemoveConstraint("pricesheet", "price_sheet_rounding"),
        migrations.AddConstraint(
            "pricesheet",
            models.CheckConstraint(
                condition=models.Q(
                    rounded_per__in=["unit", "line", "column", "total"], rounding__in=["nearest", "up", "down"]
                ),
                name="price_sheet_rounding",
            ),
        ),
        migrations.RemoveConstraint("pricesheetline", "price_sheet_line_support"),
        migrations.AddConstraint(
            "pricesheetline",
            models.CheckConstraint(
                condition=models.Q(support__in=["", "unsupported", "bought", "included"]),
                name="price_sheet_line_support",
            ),
        ),
        migrations.AddConstraint(
            "pricesheetline",
            models.CheckConstraint(
                condition=models.Q(charged__in=["once", "year", "month"]), name="price_sheet_line_charged"
            ),
        ),
        migrations.AddConstraint(
            "pricesheetline",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("currency", ""), ("exchange_rate", None)),
                    models.Q(("currency__regex", "^[A-Z]{3}$"), ("exchange_rate__gt", 0)),
                    _connector="OR",
                ),
                name="price_sheet_line_in_another_currency",
            ),
        ),
    ]
