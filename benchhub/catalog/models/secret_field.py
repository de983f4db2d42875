"""Text that is encrypted at rest with the keys of the environment (FIELD_KEYS, newest first).

Each column has keys of its own, derived from those: whoever can write to the warehouse and has no key cannot have the
secret of one column read, used or shown as that of another. What was stored with a key before columns had their own is
bound to none: it opens in each, a copy of it too, for as long as that key is in FIELD_KEYS. Storing all anew with a new
key (manage.py encrypt_again) and taking the old one out ends that.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.db.models.query_utils import DeferredAttribute


@cache
def _cipher(keys: tuple[str, ...], column: str) -> MultiFernet:
    if not keys:
        raise ImproperlyConfigured("Set FIELD_KEYS to one or more Fernet keys: stored secrets are encrypted with them.")
    return MultiFernet([*(_of_column(key, column) for key in keys), *map(Fernet, keys)])


def _of_column(key: str, column: str) -> Fernet:
    derivation = HKDF(SHA256(), length=32, salt=None, info=f"benchhub {column}".encode())
    return Fernet(base64.urlsafe_b64encode(derivation.derive(base64.urlsafe_b64decode(key))))


def encrypt(text: str, column: str) -> str:
    """Return a text as it is stored in a column, named as `SecretField.column_label` does."""
    return _cipher(tuple(settings.FIELD_KEYS), column).encrypt(text.encode()).decode()


def decrypt(token: str, column: str) -> str:
    """Return what was stored in a column. Raises ImproperlyConfigured for what no key opens as a secret of it."""
    try:
        return _cipher(tuple(settings.FIELD_KEYS), column).decrypt(token.encode()).decode()
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
        secret = decrypt(value.token, cast(SecretField, self.field).column_label)
        instance.__dict__[self.field.attname] = secret
        return secret

    def __set__(self, instance: Any, value: Any) -> None:
        """Keep a value as it is; with this, Python asks `__get__` even where the instance has one."""
        instance.__dict__[self.field.attname] = value


class SecretField(models.TextField):  # type: ignore[type-arg]  # not subscriptable when it runs
    """A TextField whose column holds only ciphertext; an empty text stays empty."""

    descriptor_class = _Unsealing

    @property
    def column_label(self) -> str:
        """Return the name of the column, by which its keys are derived: it stays, or its secrets are stored anew."""
        return f"{self.model._meta.label_lower}.{self.name}"

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return encrypt(text, self.column_label) if text else text

    def from_db_value(self, value: str | None, *_: Any) -> Sealed | str | None:
        return Sealed(value) if value else value

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Return the secret, or the ciphertext as it was read: what nobody has opened is stored as it is."""
        sealed = model_instance.__dict__.get(self.attname)
        return sealed if isinstance(sealed, Sealed) else super().pre_save(model_instance, add)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        return value.token if isinstance(value, Sealed) else super().get_db_prep_save(value, connection)
