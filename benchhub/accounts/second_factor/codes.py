"""One-time codes by time (TOTP, RFC 6238), and recovery codes for whoever has lost what makes them."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from base64 import b32encode
from typing import Any

import pyotp
import segno
from cryptography.fernet import InvalidToken
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils.safestring import SafeString, mark_safe

from benchhub.accounts.models import SecondFactor
from benchhub.catalog.models.secret_field import decrypt, encrypt

ISSUER = "BenchHub"
OFFERED = "a secret that a page offers"  # no column: what is stored in one cannot be sent in its place
STEP_S, STEPS_BESIDE = 30, 1  # a clock may differ by half a minute, and a code is typed late
RECOVERY_CODES, RECOVERY_BYTES = 10, 10


def is_needed(user: Any) -> bool:
    return SecondFactor.objects.filter(user=user.pk).exists()


def new_secret() -> str:
    return pyotp.random_base32()


def seal(secret: str, user: Any) -> str:
    """Encrypt a secret that a page offers to a user, until a code proves that it has arrived."""
    return encrypt(json.dumps([user.pk, secret]), OFFERED)


def unseal(text: str, user: Any) -> str:
    """Return the secret that was offered to this user; empty for what was offered to nobody, or to somebody else."""
    try:
        owner, secret = json.loads(decrypt(text, OFFERED))
    except (ImproperlyConfigured, InvalidToken, ValueError, TypeError):
        return ""
    return str(secret) if owner == user.pk else ""


def drawing(secret: str, username: str) -> SafeString:
    """Return the address for an authenticator as a QR code, in SVG; on white, as dark pages could not be read."""
    address = pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=ISSUER)
    picture = segno.make(address, error="m").svg_inline(scale=4, light="white", title="QR code for an authenticator")
    return mark_safe(picture)  # nosec B308  # drawn by segno, and the title is ours


def step_of(secret: str, code: str) -> int:
    """Return the step of time that a code is of, 0 where it is of none about now."""
    digits, totp = code.replace(" ", ""), pyotp.TOTP(secret)
    if not (digits.isascii() and digits.isdecimal()):
        return 0
    now = int(time.time()) // STEP_S
    steps = range(now - STEPS_BESIDE, now + STEPS_BESIDE + 1)
    return next((step for step in steps if hmac.compare_digest(totp.generate_otp(step), digits)), 0)


def accept(user: Any, code: str) -> bool:
    """Use up a code of the user's authenticator, or a recovery code. Each is good once."""
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update().filter(user=user.pk).first()
        if factor is None:
            return False
        step, recovery = step_of(factor.secret, code), digest(code)
        if step > factor.last_step:
            factor.last_step = step
        elif recovery in factor.recovery_digests:
            factor.recovery_digests.remove(recovery)
        else:
            return False
        factor.save(update_fields=["last_step", "recovery_digests"])
        return True


def new_recovery_codes() -> list[str]:
    """Return codes of 80 random bits each, in groups of four."""
    texts = [b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower() for _ in range(RECOVERY_CODES)]
    return ["-".join(text[start : start + 4] for start in range(0, len(text), 4)) for text in texts]


def digest(recovery_code: str) -> str:
    """Return what is kept of a recovery code: 80 random bits need no slow hash."""
    plain = "".join(character for character in recovery_code.lower() if character.isalnum())
    return hashlib.sha256(plain.encode()).hexdigest()


def keep(user: Any, secret: str, step: int) -> list[str]:
    """Give the user a second factor, and return its recovery codes, which nothing can show again."""
    texts = new_recovery_codes()
    fields = {"secret": secret, "last_step": step, "recovery_digests": [digest(text) for text in texts]}
    SecondFactor.objects.update_or_create(user=user, defaults=fields)
    return texts


def renew_recovery(user: Any) -> list[str]:
    """Replace the user's recovery codes, and return the new ones."""
    texts = new_recovery_codes()
    SecondFactor.objects.filter(user=user.pk).update(recovery_digests=[digest(text) for text in texts])
    return texts
