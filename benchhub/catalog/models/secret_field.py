"""Text that is encrypted at rest with the keys of the environment (FIELD_KEYS, newest first)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.db.models.query_utils import DeferredAttribute


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


@dataclass(frozen=True, slots=True)
class Sealed:
    """The ciphertext of a row that was read; nobody has asked for the secret yet."""

    token: str


class _Unsealing(DeferredAttribute):
    """Decrypts when the attribute is read: a key that is missing then stops its own host, and no list or page."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if not isinstance(value, Sealed):
            return value
        secret = decrypt(value.token)
        instance.__dict__[self.field.attname] = secret
        return secret

    def __set__(self, instance: Any, value: Any) -> None:
        """Keep a value as it is; with this, Python asks `__get__` even where the instance has one."""
        instance.__dict__[self.field.attname] = value


class SecretField(models.TextField):  # type: ignore[type-arg]  # not subscriptable when it runs
    """A TextField whose column holds only ciphertext; an empty text stays empty."""

    descriptor_class = _Unsealing

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return encrypt(text) if text else text

    def from_db_value(self, value: str | None, *_: Any) -> Sealed | str | None:
        return Sealed(value) if value else value

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Return the secret, or the ciphertext as it was read: what nobody has opened is stored as it is."""
        sealed = model_instance.__dict__.get(self.attname)
        return sealed if isinstance(sealed, Sealed) else super().pre_save(model_instance, add)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        return value.token if isinstance(value, Sealed) else super().get_db_prep_save(value, connection)
