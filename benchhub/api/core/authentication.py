"""Authentication of programs by a token and of people by their session, and the scopes that this opens."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from benchhub.accounts import audit, tokens
from benchhub.accounts.models import Token
from benchhub.accounts.second_factor import required

WRONG = "This token is not known, or it has expired or was revoked: make a new one on the page of your account."


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer bh_...`"""

    def authenticate(self, request: Request) -> tuple[Any, Token] | None:
        scheme, _, plain = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = tokens.find(plain.strip())
        if token is None:
            audit.note_refused_key(request._request, audit.WRONG_TOKEN, f"{request.method} {request.path}")
            raise AuthenticationFailed(WRONG)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="BenchHub"'


class HasScope(BasePermission):
    """Reading takes the scope 'read', anything else the one that the view names for its action."""

    def has_permission(self, request: Request, view: Any) -> bool:
        scope = scope_of(view, request.method or "GET")
        self.message = f"This takes the scope '{scope}': use a token that has it, of a user whose role allows it."
        if not request.user or not request.user.is_authenticated:
            return False
        if request.auth is None and required.is_missing(request.user):
            self.message = required.MISSING
            return False
        return tokens.may(request.user, request.auth, scope)


def scope_of(view: Any, method: str) -> str:
    """Return the scope that a view asks for when it is called by this method."""
    read_scope = getattr(view, "read_scope", "read")
    action = getattr(view, "action", None)
    scopes: dict[str, str] = getattr(view, "scopes", {})
    write_scope = getattr(view, "write_scope", "admin")  # those that only read have none, and are asked all the same
    return scopes.get(action or "", read_scope if method in SAFE_METHODS else write_scope)
