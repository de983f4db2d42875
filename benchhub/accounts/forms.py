from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.password_validation import validate_password
from django.http import HttpRequest
from django.utils import timezone

from benchhub.catalog.models import Host
from benchhub.catalog.shared.forms import CatalogForm, offer, offer_rows

from . import rights, throttle, tokens
from .models import Permit, Token
from .rights import MEANING, Role

DAYS = ((7, "a week"), (30, "30 days"), (90, "90 days"), (365, "a year"))
MOST_TOKENS = 50
ON_OWN_PAGE = "Your own is changed on the page of your account, with the old one."
PROOF = "Asked for where a user is added, gets a password, may sign in again or may do more."
NEEDS_PROOF = "Type your own password: an open session alone does not do this."
ONLY_WITH_THE_ROLE = "Only an administrator edits workloads: choose that role, or clear this."


class SignInForm(AuthenticationForm):
    """Asks first whether too much was guessed: the password is then not even looked at."""

    throttled_for_s = 0

    @property
    def is_throttled(self) -> bool:
        return bool(self.throttled_for_s)

    def clean(self) -> dict[str, Any]:
        """Check name and password. The error leaves the turn, or the failure would not be kept in the audit log."""
        error: forms.ValidationError | None = None
        username = self.cleaned_data.get("username", "")
        with throttle.in_turn(self.request, username) as is_alone:
            self.throttled_for_s = throttle.throttled_for_s(self.request, username) if is_alone else 1
            if self.throttled_for_s:
                text = throttle.refused_text(self.throttled_for_s) if is_alone else throttle.BUSY
                error = forms.ValidationError(text, code="throttled")
            else:
                try:
                    super().clean()
                except forms.ValidationError as wrong:
                    error = wrong
        if error:
            raise error
        return self.cleaned_data


class UserForm(CatalogForm):
    role = forms.TypedChoiceField(
        choices=[(role.value, f"{role.label}: {MEANING[role]}") for role in Role], coerce=lambda value: Role(int(value))
    )
    is_on_all_hosts = forms.BooleanField(
        required=False, label="A runner on every host", help_text="On those that are added later, too."
    )
    hosts = forms.ModelMultipleChoiceField(
        Host.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="A runner on these hosts only",
    )
    may_write_scripts = forms.BooleanField(
        required=False,
        label="May write custom scripts",
        help_text="With the role of an administrator. Such scripts run on servers as they are written.",
    )
    password = forms.CharField(
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 12 characters, and not one of the common ones. The user can change it.",
    )
    own_password = throttle.password_field(required=False, help_text=f"{PROOF} A token needs none.")

    class Meta:
        model = get_user_model()
        fields = ("username", "is_active")
        labels = {"username": "Name", "is_active": "May sign in"}
        help_texts = {"username": "", "is_active": "Accounts are not deleted: what they did stays theirs."}
        error_messages = {"username": {"unique": "There is already a user of this name: choose another one."}}

    field_order = (
        "username",
        "role",
        "is_on_all_hosts",
        "hosts",
        "may_write_scripts",
        "password",
        "is_active",
        "own_password",
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request, self.editor = request, cast(Any, request.user)
        self.has_session = getattr(request, "auth", None) is None
        self.fields["own_password"].label, self.fields["own_password"].help_text = "Your own password", PROOF
        offer_rows(self, "hosts", Host.objects.defer("private_key", "facts").order_by("name"))
        if self.instance.pk:
            self._show_stored()
        else:
            self.fields["password"].required = True
            self.fields["password"].label = "Password"
            self.fields["own_password"].required = self.has_session

    def _show_stored(self) -> None:
        self.initial["role"] = rights.role(self.instance).value
        self.initial["may_write_scripts"] = self.instance.pk in rights.script_writers()
        if self.instance.is_superuser:
            self.fields["may_write_scripts"].disabled = True
            self.fields["may_write_scripts"].help_text = "A superuser may do everything."
        self.fields["password"].help_text = "Empty keeps the one there is. A new one revokes the user's API tokens."
        if self.instance.pk == self.editor.pk:
            self.fields["password"].widget.attrs["disabled"] = True
            self.fields["password"].help_text = ON_OWN_PAGE
        if permit := Permit.objects.filter(user=self.instance).first():
            self.initial.update(is_on_all_hosts=permit.is_on_all_hosts, hosts=permit.hosts.all())

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if password:
            validate_password(password, self.instance)
        return password

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.instance.is_superuser and not self.editor.is_superuser:
            raise forms.ValidationError("Only a superuser edits the account of a superuser: ask one of them.")
        is_given = cleaned.get("may_write_scripts") and not self.instance.is_superuser
        if is_given and cleaned.get("role") not in (None, Role.ADMINISTRATOR):
            self.add_error("may_write_scripts", ONLY_WITH_THE_ROLE)
        if self.instance.pk == self.editor.pk:
            self._refuse_to_oneself(cleaned, is_given=bool(is_given))
        if self.has_session and not self.errors and self._needs_proof(cleaned):
            self._check_own_password(cleaned["own_password"])
        return cleaned

    def _needs_proof(self, cleaned: dict[str, Any]) -> bool:
        """Tell whether a user is made, gets a password or may do more than before: what outlives an open session."""
        if not self.instance.pk or cleaned["password"] or cleaned["role"] > self.initial["role"]:
            return True
        switches = ("may_write_scripts", "is_on_all_hosts", "is_active")
        if any(cleaned[name] and not self.initial.get(name) for name in switches):
            return True
        hosts = {host.pk for host in self.initial.get("hosts", ())}
        return not hosts.issuperset(host.pk for host in cleaned["hosts"])

    def _check_own_password(self, password: str) -> None:
        sentence = throttle.check_password(self.request, self.editor, password) if password else NEEDS_PROOF
        if sentence:
            self.add_error("own_password", sentence)

    def _refuse_to_oneself(self, cleaned: dict[str, Any], *, is_given: bool) -> None:
        if cleaned.get("password"):
            self.add_error("password", ON_OWN_PAGE)
        if cleaned.get("role") not in (None, Role.ADMINISTRATOR):
            self.add_error("role", "You cannot take this role from yourself: let another administrator do it.")
        if cleaned.get("is_active") is False:
            self.add_error("is_active", "You cannot lock yourself out: let another administrator do it.")
        if is_given and not self.initial["may_write_scripts"]:
            sentence = "You cannot give yourself this right: let another administrator do it."
            self.add_error("may_write_scripts", sentence)

    def write(self) -> Any:
        user, values = self.instance, self.cleaned_data
        if values["password"]:
            user.set_password(values["password"])
        may_write_scripts = values["may_write_scripts"] and not user.is_superuser
        user.is_superuser = user.is_superuser and values["role"] == Role.ADMINISTRATOR
        user.save()
        if values["password"]:
            tokens.revoke_all(self.request, user)
        rights.give_role(user, values["role"])
        rights.let_write_scripts(user, may_write_scripts)
        permit, _ = Permit.objects.update_or_create(user=user, defaults={"is_on_all_hosts": values["is_on_all_hosts"]})
        permit.hosts.set(values["hosts"])
        return user


class OwnPasswordForm(PasswordChangeForm):
    """A new password of one's own; the old one is guessed here as seldom as at the sign-in."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        if sentence := throttle.check_password(self.request, self.user, password):
            raise forms.ValidationError(sentence)
        return password


class TokenForm(forms.Form):
    """A token of one's own; only what its owner may do is offered, and whoever finds an open session makes none."""

    name = forms.CharField(max_length=80, help_text="What uses it: nightly CI of project X.")
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        label="It may",
        error_messages={"required": "Choose at least one."},
    )
    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=90, label="It expires after")
    password = throttle.password_field()

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owner: Any = request.user
        self.label_suffix, self.owner, self.request = "", owner, request
        scopes = [(name, f"{name}: {tokens.SCOPES[name][1]}") for name in tokens.scopes_of(owner)]
        offer(self, "scopes", scopes)
        self.initial.setdefault("scopes", ["read"])

    def clean(self) -> dict[str, Any]:
        current = Token.objects.filter(owner=self.owner, revoked_at=None, expires_at__gt=timezone.now()).count()
        password = self.cleaned_data.get("password", "")
        if not self.errors and (sentence := throttle.check_password(self.request, self.owner, password)):
            self.add_error("password", sentence)
        if current >= MOST_TOKENS:
            raise forms.ValidationError(f"You have {current} tokens: revoke those that are not used any more first.")
        return self.cleaned_data

    def issue(self) -> tuple[Token, str]:
        values = self.cleaned_data
        expires_at = timezone.now() + timedelta(days=values["days"])
        return tokens.issue(self.owner, values["name"], values["scopes"], expires_at)
