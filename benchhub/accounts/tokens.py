"""API tokens: issued once in plain, kept as digests, and worth no more than their owner is at the moment of use."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest

from benchhub.ui.acts import explain

from .models import Token
from .rights import Role, role

PREFIX = "bh_"
SCOPES = {
    "read": (Role.VIEWER, "read everything"),
    "run": (Role.RUNNER, "plan, run, pause and cancel experiments on the owner's hosts"),
    "ingest": (Role.RUNNER, "import results that were measured elsewhere"),
    "admin": (Role.ADMINISTRATOR, "edit hosts, the catalogue and webhooks"),
}
NOTED_EVERY = timedelta(minutes=1)


def issue(owner: Any, name: str, scopes: list[str], expires_at: datetime) -> tuple[Token, str]:
    """Return the stored token and its text, which nothing can show a second time."""
    plain = PREFIX + secrets.token_urlsafe(32)
    token = Token.objects.create(owner=owner, name=name, scopes=scopes, expires_at=expires_at, digest=digest(plain))
    return token, plain


def digest(plain: str) -> str:
    """Return the SHA-256 of a token: 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(plain.encode()).hexdigest()


def find(plain: str) -> Token | None:
    """Return the token of this text if it is valid now, and note that it was used."""
    valid_tokens = Token.objects.filter(revoked_at=None, expires_at__gt=Now(), owner__is_active=True)
    token = valid_tokens.select_related("owner").filter(digest=digest(plain)).first()
    if token:
        stale = Q(used_at=None) | Q(used_at__lt=Now() - NOTED_EVERY)
        Token.objects.filter(stale, pk=token.pk).update(used_at=Now())
    return token


def scopes_of(user: Any) -> list[str]:
    """Return the scopes that a token of this user can hold."""
    return [name for name, (least, _) in SCOPES.items() if role(user) >= least]


def may(user: Any, token: Token | None, scope: str) -> bool:
    """Tell whether this user, by this token or (without one) in a browser, may do what takes the scope."""
    return scope in scopes_of(user) and (token is None or scope in token.scopes)


def revoke(token: Token) -> None:
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now())


def revoke_all(request: HttpRequest, owner: Any) -> None:
    """Revoke the tokens of an owner whose password was set, as who knew the old one may have made some; audit it."""
    valid_tokens = Token.objects.filter(owner=owner, revoked_at=None, expires_at__gt=Now())
    if names := ", ".join(valid_tokens.order_by("pk").values_list("name", flat=True)):
        valid_tokens.update(revoked_at=Now())
        explain(request, f"API tokens revoked: {names}")
