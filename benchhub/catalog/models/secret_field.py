"""Text that is encrypted at rest with the keys of the environment (FIELD_KEYS, newest first)."""

from functools import cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models


@cache
def _cipher(keys: tuple[str, ...]) -> MultiFernet:
    if not keys:
        raise ImproperlyConfigured("Set FIELD_KEYS to one or more Fernet keys: stored secrets are encrypted with them.")
    return MultiFernet([Fernet(key) for key in keys])


def encrypt(text: str) -> str:
    return _cipher(tuple(settings.FIELD_KEYS)).encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    try:
        return _cipher(tuple(settings.FIELD_KEYS)).decrypt(token.encode()).decode()
    except InvalidToken:
        raise ImproperlyConfigured(
            "A stored secret was encrypted with a key that is not in FIELD_KEYS: add the key it was stored with."
        ) from None


class SecretField(models.TextField):  # type: ignore[type-arg]  # not subscriptable when it runs
    """A TextField whose column holds only ciphertext; an empty text stays empty."""

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return encrypt(text) if text else text

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return decrypt(value) if value else value
