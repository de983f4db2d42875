from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand
from django.db import models, transaction

from benchhub.catalog.models.secret_field import SecretField, decrypt


class Command(BaseCommand):
    help = "Encrypt every stored secret with the newest of FIELD_KEYS; the older ones can be dropped afterwards."

    @transaction.atomic
    def handle(self, *_args: Any, **_options: Any) -> None:
        count = sum(
            encrypt_again(model, field)
            for model in apps.get_models()
            for field in model._meta.concrete_fields
            if isinstance(field, SecretField)
        )
        self.stdout.write(f"Secrets encrypted with the newest key: {count}.")


def encrypt_again(model: type[models.Model], field: SecretField) -> int:
    """Read and store one column, and return how many rows have something in it."""
    name = field.name
    rows = model._default_manager.exclude(**{name: ""}).select_for_update().values_list("pk", name)
    for pk, sealed in rows:
        model._default_manager.filter(pk=pk).update(**{name: decrypt(sealed.token, field.column_label)})
    return len(rows)
