"""The account of whoever asks, its tokens, and for administrators users and the audit log."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.accounts import rights, tokens
from benchhub.accounts.forms import UserForm
from benchhub.accounts.models import Entry, Token
from benchhub.accounts.rights import Role
from benchhub.ui.acts import explain

from .core import problems
from .core.json_forms import serializer_of
from .core.views import AddView, ReadView, RowSerializer, View

ROLES = {str(role.label): role for role in Role}
PAGES_ONLY = "By a token nobody becomes an administrator, and no administrator's account is changed: use the pages."
NO_KEY = "With a session no Idempotency-Key is taken here: leave it out, or use a token."
TAKES = serializer_of(UserForm, "UserRequest", role=drf.ChoiceField(choices=list(ROLES), required=False))


class UserShown(RowSerializer):
    role = drf.SerializerMethodField()
    is_on_all_hosts = drf.SerializerMethodField(help_text="Whether a runner may run on every host.")
    hosts = drf.SerializerMethodField(help_text="Otherwise on these.")
    may_write_scripts = drf.SerializerMethodField(help_text="Custom scripts, which servers run as they are written.")

    class Meta:
        model = get_user_model()
        fields: Any = (
            "id", "url", "username", "role", "is_active", "is_on_all_hosts", "hosts", "may_write_scripts", "last_login",
        )  # fmt: skip

    def get_role(self, row: Any) -> str:
        groups = {group.name for group in row.groups.all()}
        return str((Role.ADMINISTRATOR if row.is_superuser else rights.highest(groups)).label)

    def get_is_on_all_hosts(self, row: Any) -> bool:
        return bool(hasattr(row, "permit") and row.permit.is_on_all_hosts)

    def get_hosts(self, row: Any) -> list[int]:
        return sorted(host.pk for host in row.permit.hosts.all()) if hasattr(row, "permit") else []

    def get_may_write_scripts(self, row: Any) -> bool:
        if "script_writers" not in self.context:  # asked once for all rows
            self.context["script_writers"] = rights.script_writers()
        return row.pk in self.context["script_writers"]


class AccountShown(UserShown):
    scopes = drf.ListField(child=drf.CharField(), help_text="What this token, or without one the session, opens now.")

    class Meta(UserShown.Meta):
        fields: Any = (*(name for name in UserShown.Meta.fields if name != "url"), "scopes")

    url = None


class TokenShown(RowSerializer):
    """A token. Its text was shown once, when it was made on a page, and is kept nowhere."""

    owner = drf.SlugRelatedField(slug_field="username", read_only=True)
    state = drf.ChoiceField(choices=["valid", "expired", "revoked"], read_only=True)

    class Meta:
        model = Token
        fields = ("id", "url", "owner", "name", "scopes", "state", "created_at", "expires_at", "revoked_at", "used_at")


class EntryShown(drf.ModelSerializer):
    outcome = drf.CharField(read_only=True)

    class Meta:
        model = Entry
        fields = ("id", "at", "username", "token", "way", "action", "address", "status", "outcome", "origin", "detail")


class Account(View):
    pagination_class = None
    filter_backends = ()
    serializer_class = AccountShown

    @extend_schema(responses=forced_singular_serializer(AccountShown))
    def list(self, request: Request) -> Response:
        """Return the account that asks, and the scopes that are open to it."""
        user: Any = request.user
        user.scopes = [name for name in tokens.SCOPES if tokens.may(user, request.auth, name)]
        return Response(self.get_serializer(user).data)


class Users(AddView):
    queryset = (
        get_user_model().objects.select_related("permit").prefetch_related("groups", "permit__hosts").order_by("pk")
    )
    serializer_class = UserShown
    takes = TAKES
    read_scope = "admin"
    filterset_fields: ClassVar[Any] = {"username": ["exact", "icontains"], "is_active": ["exact"]}
    ordering_fields: ClassVar[Any] = ("id", "username")

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a key of a session: what fails with one is forgotten, and guesses of the own password must not be."""
        super().initial(request, *args, **kwargs)
        if request.auth is None and "Idempotency-Key" in request.headers:
            raise problems.Problem(400, NO_KEY)

    def form(self, values: dict[str, Any], instance: Any = None) -> Any:
        role = str(values.get("role", ""))
        number = ROLES[role].value if role in ROLES else role
        self._require_pages(instance, str(number))
        return UserForm({**values, "role": str(number)}, instance=instance, request=self.request._request)

    def blank_form(self, instance: Any = None) -> Any:
        return UserForm(instance=instance, initial={"role": Role.VIEWER.value}, request=self.request._request)

    def partial_update(self, request: Request, pk: str) -> Response:  # named by the address
        """Change the fields that are sent. An account is shut by `is_active`, and never deleted."""
        row = self.get_object()
        self.require_unchanged(row)
        self.save(self.changed_values(row, request), row)
        return Response(self.get_serializer(self.get_object()).data)

    def _require_pages(self, row: Any, role: str) -> None:
        """Refuse by token what must outlive no token: an account that opens everything and stays."""
        highest = str(Role.ADMINISTRATOR.value)
        is_administrator = (
            row is not None and rights.role(get_user_model().objects.get(pk=row.pk)) == Role.ADMINISTRATOR
        )
        if self.request.auth is not None and (is_administrator or role == highest):
            raise problems.Problem(403, PAGES_ONLY)


class Tokens(ReadView):
    queryset = Token.objects.select_related("owner").order_by("pk")
    serializer_class = TokenShown
    filterset_fields: ClassVar[Any] = {"owner__username": ["exact"], "expires_at": ["gte", "lte"]}

    def get_queryset(self) -> QuerySet[Token]:
        """Return the tokens of whoever asks; who opens 'admin' gets everybody's."""
        rows: QuerySet[Token] = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):  # described, and asked by nobody
            return rows
        sees_all = tokens.may(self.request.user, self.request.auth, "admin")
        return rows if sees_all else rows.filter(owner=self.request.user.pk)

    @extend_schema(request=None, responses=TokenShown)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, pk: str) -> Response:
        """Withdraw it for good: whatever uses it is refused from now on."""
        row = self.get_object()
        tokens.revoke(row)
        explain(request, f"token {row} of {row.owner}")
        return Response(self.get_serializer(self.get_object()).data)


class AuditLog(ReadView):
    """The audit log says who did, or tried to do, what."""

    queryset = Entry.objects.order_by("pk")
    serializer_class = EntryShown
    read_scope = "admin"
    filterset_fields: ClassVar[Any] = {
        "username": ["exact"], "action": ["exact"], "way": ["exact"], "status": ["exact", "gte", "lt"],
        "at": ["gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "at")
    search_fields = ("username", "token", "action", "address", "origin", "detail")
