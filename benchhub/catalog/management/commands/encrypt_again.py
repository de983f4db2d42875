from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import models, transaction

from benchhub.catalog.models.secret_field import SecretField, decrypt


class Command(BaseCommand):
    help = "Encrypt every stored secret with the newest of FIELD_KEYS; then take the older ones out."

    @transaction.atomic
    def handle(self, *_args: Any, **_options: Any) -> None:
        count = sum(
            encrypt_again(model, field)
            for model in apps.get_models()
            for field in model._meta.concrete_fields
            if isinstance(field, SecretField)
        )
        self.stdout.write(f"Secrets encrypted with the newest key: {count}. {advice(len(settings.FIELD_KEYS))}")


def advice(keys: int) -> str:
    """Say what is left to do, as an old copy of a secret opens in every column while its key is in FIELD_KEYS."""
    if keys > 1:
        return "Take the older keys out of FIELD_KEYS: until then what was stored with them still opens."
    return (
        "There is no older key to take out. If a release that did not bind secrets to their columns stored some with "
        "this key, copies of them still open: put a new key before it, and run this again."
    )


def encrypt_again(model: type[models.Model], field: SecretField) -> int:
    """Read and store one column, and return how many rows have something in it."""
    name = field.name
    rows = model._default_manager.exclude(**{name: ""}).select_for_update().values_list("pk", name)
    for pk, sealed in rows:
        model._default_manager.filter(pk=pk).update(**{name: decrypt(sealed.token, field.column_label)})
    return len(rows)
