"""One's own account with its tokens; for administrators the users and the audit log."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth import views as auth
from django.contrib.auth.forms import AuthenticationForm
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse, reverse_lazy
from django.views.decorators.cache import never_cache

from benchhub.ui.acts import explain, explain_form
from benchhub.ui.listing import Column, Filter, Listing
from benchhub.ui.pages import Crumb, FormPage, Question

from . import audit, devices, rights, tokens
from .forms import OwnPasswordForm, SignInForm, TokenForm, UserForm
from .models import Entry, Permit, SecondFactor, Token
from .rights import MEANING, Role
from .second_factor import codes, steps

USER_COLUMNS = (
    Column("name", "User", ("username",)),
    Column("role", "Role"),
    Column("hosts", "May run on"),
    Column("signed", "Last signed in", ("last_login", "username")),
    Column("used", "Token last used", ("token_used_at", "username")),
)
ENTRY_COLUMNS = (
    Column("at", "When", ("at",)),
    Column("who", "Who", ("username", "-at")),
    Column("what", "What", ("action", "-at")),
    Column("address", "Address", ("address", "-at")),
    Column("outcome", "Outcome", ("status", "-at")),
    Column("origin", "From", ("origin", "-at")),
)
ENTRY_FILTERS = (
    Filter("way", "By", {way: (str(label), Q(way=way)) for way, label in Entry.Way.choices}),
    Filter("outcome", "Outcome", {"done": ("done", Q(status__lt=400)), "not": ("refused or not", Q(status__gte=400))}),
)

CHANGE_INTRO = "Other browsers have to sign in again then, and your API tokens are revoked: make new ones afterwards."


@dataclass(frozen=True, kw_only=True)
class AccountPage:
    role: Role
    permit: Permit | None
    tokens: QuerySet[Token]
    second_factor: SecondFactor | None

    @property
    def meaning(self) -> str:
        return MEANING[self.role]

    @property
    def is_runner(self) -> bool:
        return self.role == Role.RUNNER


@dataclass(frozen=True, kw_only=True)
class UserFormPage(FormPage):
    tokens: QuerySet[Token] = field(default_factory=Token.objects.none)
    has_second_factor: bool = False


class SignIn(auth.LoginView):
    redirect_authenticated_user = True
    authentication_form = SignInForm

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Show the form again; where too much was guessed, with 429 and when the next attempt is looked at."""
        response = super().form_invalid(form)
        if isinstance(form, SignInForm) and form.is_throttled:
            response.status_code, response.headers["Retry-After"] = 429, str(form.throttled_for_s)
        return response

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign the user in, or ask for the code of a second factor first."""
        if codes.is_needed(user := form.get_user()):
            return steps.begin(self.request, user, self.get_success_url())
        response = super().form_valid(form)
        devices.remember(self.request, response, user)
        return response


sign_in = SignIn.as_view()


class SignOut(auth.LogoutView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """End the session, and have the browser forget what it was sent."""
        response = super().post(request, *args, **kwargs)
        response.headers["Clear-Site-Data"] = '"cache"'
        return response


sign_out = SignOut.as_view()


class PasswordChange(auth.PasswordChangeView):
    form_class = OwnPasswordForm
    template_name = "form.html"
    success_url = reverse_lazy("account")

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        form.label_suffix = ""
        form.fields["new_password1"].help_text = "At least 8 characters, and not one of the common ones."
        form.fields["new_password2"].label, form.fields["new_password2"].help_text = "New password again", ""
        return form

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        crumb = Crumb.to("account", "Your account")
        page = FormPage(
            form=context["form"], title="Change your password", action="Change it", intro=CHANGE_INTRO, crumb=crumb
        )
        return {**context, "page": page}

    def form_valid(self, form: Any) -> HttpResponse:
        tokens.revoke_all(self.request, self.request.user)
        messages.success(self.request, "Your password is changed. Other browsers have to sign in again.")
        return super().form_valid(form)


def account(request: HttpRequest) -> HttpResponse:
    role = rights.role(request.user)
    page = AccountPage(
        role=role,
        permit=Permit.objects.filter(user=request.user.pk).prefetch_related("hosts").first(),
        tokens=Token.objects.filter(owner=request.user.pk).order_by("-pk"),
        second_factor=SecondFactor.objects.filter(user=request.user.pk).defer("secret").first(),
    )
    return render(request, "accounts/account.html", {"page": page})


@never_cache
def token_add(request: HttpRequest) -> HttpResponse:
    form = TokenForm(request.POST or None, request=request)
    if request.method == "POST" and form.is_valid():
        token, plain = form.issue()
        explain(request, f"token {token}, which opens {', '.join(token.scopes)} until {token.expires_at:%Y-%m-%d}")
        return render(request, "accounts/token.html", {"token": token, "plain": plain}, status=201)
    page = FormPage(
        form=form,
        title="Make an API token",
        action="Make the token",
        intro="A program sends it as 'Authorization: Bearer ...'. It can never do more than you can at that moment.",
        crumb=Crumb.to("account", "Your account"),
    )
    return page.show(request)


def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke one's own token, or as an administrator anybody's. GET asks, POST does."""
    is_administrator = rights.is_at_least(request.user, Role.ADMINISTRATOR)
    revocable = Token.objects.all() if is_administrator else Token.objects.filter(owner=request.user.pk)
    token = get_object_or_404(revocable.select_related("owner"), pk=pk)
    is_own = token.owner_id == request.user.pk
    back = reverse("account") if is_own else reverse("user-edit", args=[token.owner_id])
    if request.method == "POST":
        tokens.revoke(token)
        explain(request, f"token {token} of {token.owner}")
        messages.success(request, f"The token {token} is revoked: nothing can use it any more.")
        return redirect(back)
    question = Question(
        title=f"Revoke the token {token}?",
        consequence="Whatever uses it is refused from now on. It cannot be made good again.",
        action="Revoke it",
        crumb=Crumb(back, "Your account" if is_own else token.owner.get_username()),
    )
    return question.ask(request)


def users(request: HttpRequest) -> HttpResponse:
    rows = get_user_model().objects.annotate(token_used_at=Max("tokens__used_at"))
    rows = rows.prefetch_related("groups", "permit__hosts").annotate(
        has_second_factor=Exists(SecondFactor.objects.filter(user=OuterRef("pk")))
    )
    listing = Listing(request.GET, rows, USER_COLUMNS, search=("username",), default="name")
    writers = rights.script_writers()
    for user in listing.page:
        # Row by row, because the template has users and no look-up by key: a User has neither attribute by itself.
        user.may_write_scripts = user.pk in writers  # type: ignore[attr-defined]  # see above
        names = {group.name for group in user.groups.all()}
        role = Role.ADMINISTRATOR if user.is_superuser else rights.highest(names)
        user.role = role  # type: ignore[attr-defined]  # see above
    return render(request, "accounts/users.html", {"listing": listing})


def user_add(request: HttpRequest) -> HttpResponse:
    initial = {"role": Role.VIEWER.value}
    form = UserForm(request.POST or None, initial=initial, request=request)
    return _user_form(request, form, title="Add a user", action="Add the user")


def user_edit(request: HttpRequest, pk: int) -> HttpResponse:
    user = get_object_or_404(get_user_model(), pk=pk)
    form = UserForm(request.POST or None, instance=user, request=request)
    tokens = Token.objects.filter(owner=user).order_by("-pk")
    title = f"Edit {user.get_username()}"
    return _user_form(request, form, title=title, tokens=tokens, has_second_factor=codes.is_needed(user))


def _user_form(request: HttpRequest, form: UserForm, **context: Any) -> HttpResponse:
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        explain_form(request, form)
        if "may_write_scripts" in form.changed_data:
            change = "given to" if form.cleaned_data["may_write_scripts"] else "withdrawn from"
            audit.note_request(request, HTTPStatus.FOUND, f"right to write scripts {change} {saved.get_username()}")
        messages.success(request, f"{saved.get_username()} is saved.")
        return redirect("users")
    page = UserFormPage(form=form, crumb=Crumb.to("users", "Users"), **context)
    return page.show(request, "accounts/user_form.html")


def log(request: HttpRequest) -> HttpResponse:
    search = ("username", "token", "action", "address", "origin", "detail")
    rows = Entry.objects.all()
    listing = Listing(request.GET, rows, ENTRY_COLUMNS, search=search, filters=ENTRY_FILTERS, default="-at")
    return render(request, "accounts/log.html", {"listing": listing})
