"""Prices take eight decimals, as what is rented by the hour needs; a discount below 0 is a surcharge."""

from typing import Any

from django.db import migrations, models
from django.db.models import Q


def price(**more: Any) -> Any:
    return models.DecimalField(decimal_places=8, max_digits=20, **more)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0009_discounts_on_several_at_once_and_fees_by_the_month")]
    operations = [
        migrations.AlterField("listprice", "amount", price()),
        migrations.AlterField("pricesheetline", "unit_price", price()),
        migrations.AlterField("pricesheetline", "contracted_price", price(blank=True, null=True)),
        migrations.AlterField("pricesheetline", "maintenance_price", price(default=0)),
        migrations.RemoveConstraint("pricesheetdiscount", "price_sheet_discount_percent"),
        migrations.AddConstraint(
            "pricesheetdiscount",
            models.CheckConstraint(
                condition=Q(percent=None) | Q(percent__gte=-999, percent__lte=100), name="price_sheet_discount_percent"
            ),
        ),
    ]
