"""The second step of the sign-in, and one's own second factor; an administrator may take anybody's away."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache

from benchhub.accounts import devices
from benchhub.accounts.models import SecondFactor
from benchhub.ui.acts import explain
from benchhub.ui.pages import Crumb, FormPage

from . import codes, required, steps
from .forms import CodeForm, PasswordForm, RemoveForm, SetUpForm

ONLY_A_SUPERUSER = "Only a superuser takes the second factor of a superuser away: ask one of them."
OWN_FACTOR = "Your own second factor is turned off on the page of your account, with your password and a code."


@dataclass(frozen=True, kw_only=True)
class SetUpPage(FormPage):
    drawing: SafeString
    secret: str
    is_required: bool


@never_cache
@login_not_required
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code of somebody whose password was right; without one the sign-in begins anew."""
    user = steps.pending_user(request)
    if user is None:
        return redirect("login")
    form = CodeForm(request.POST or None, request=request, user=user)
    if request.method == "POST" and form.is_valid():
        response = steps.finish(request, user)
        devices.remember(request, response, user)
        return response
    return render(request, "accounts/code.html", {"form": form})


@never_cache
def add(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    if codes.is_needed(user):
        return redirect("account")
    form = SetUpForm(request.POST or None, request=request, user=user)
    if request.method == "POST" and form.is_valid():
        texts = codes.keep(user, form.secret, form.step)
        _end_other_sessions(request, user, form.cleaned_data["password"])
        explain(request, "second factor set up")
        return _codes(request, texts)
    secret = form.secret
    page = SetUpPage(
        form=form,
        title="Set up a second factor",
        crumb=Crumb.to("account", "Your account"),
        action="Turn it on",
        drawing=codes.drawing(secret, user.get_username()),
        is_required=required.is_missing(user),
        secret=" ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
    )
    return page.show(request, "accounts/second_factor.html")


@never_cache
def recovery(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    if not codes.is_needed(user):
        return redirect("account")
    form = RemoveForm(request.POST or None, request=request, user=user)
    if request.method == "POST" and form.is_valid():
        texts = codes.renew_recovery(user)
        explain(request, "recovery codes replaced")
        return _codes(request, texts)
    intro = "The codes that you have now are worth nothing afterwards."
    crumb = Crumb.to("account", "Your account")
    return FormPage(form=form, title="New recovery codes", crumb=crumb, action="Make them", intro=intro).show(request)


def remove(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    if not codes.is_needed(user):
        return redirect("account")
    form = RemoveForm(request.POST or None, request=request, user=user)
    if request.method == "POST" and form.is_valid():
        SecondFactor.objects.filter(user=user).delete()
        explain(request, "second factor taken away by its owner")
        messages.success(request, "The second factor is off: your password alone signs you in.")
        return redirect("account")
    intro = "Your password alone signs you in then."
    crumb = Crumb.to("account", "Your account")
    return FormPage(form=form, title="Turn the second factor off", crumb=crumb, action="Turn it off", intro=intro).show(
        request
    )


def remove_of_user(request: HttpRequest, pk: int) -> HttpResponse:
    """Let an administrator, who types their own password, help somebody who has lost authenticator and codes."""
    user = get_object_or_404(get_user_model(), pk=pk)
    if user.pk == request.user.pk:
        raise PermissionDenied(OWN_FACTOR)
    if user.is_superuser and not getattr(request.user, "is_superuser", False):
        raise PermissionDenied(ONLY_A_SUPERUSER)
    form = PasswordForm(request.POST or None, request=request, user=request.user)
    if request.method == "POST" and form.is_valid():
        SecondFactor.objects.filter(user=user).delete()
        explain(request, f"second factor of {user.get_username()}")
        messages.success(request, f"The second factor of {user.get_username()} is gone.")
        return redirect("user-edit", pk)
    page = FormPage(
        form=form,
        title=f"Take the second factor of {user.get_username()} away?",
        intro="The password alone signs them in then. Be sure that it is they who ask.",
        action="Take it away",
        button="danger",
        crumb=Crumb.to("user-edit", user.get_username(), pk),
    )
    return page.show(request)


def _end_other_sessions(request: HttpRequest, user: Any, password: str) -> None:
    """Store the same password anew: sessions that were open without a code hang on how it was stored before."""
    user.set_password(password)
    user.save(update_fields=["password"])
    update_session_auth_hash(request, user)


def _codes(request: HttpRequest, texts: list[str]) -> HttpResponse:
    return render(request, "accounts/recovery.html", {"codes": texts}, status=HTTPStatus.CREATED)
