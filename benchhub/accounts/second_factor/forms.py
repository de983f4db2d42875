"""Forms of the second factor: the code at the sign-in, and what setting it up and taking it away ask for."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest

from benchhub.accounts import throttle

from . import codes

WRONG_CODE = "This code is wrong, or it was used already: wait for the next one."
WRONG = "The password or the code is wrong. A code is good once: wait for the next one."
WRONG_PASSWORD = "This password is wrong."  # a sentence
LONGEST = 40


def code_field(help_text: str, *, is_first: bool = False) -> forms.CharField:
    attributes = {"autocomplete": "one-time-code", "autofocus": is_first, "spellcheck": "false"}
    return forms.CharField(
        max_length=LONGEST, label="Code", help_text=help_text, widget=forms.TextInput(attrs=attributes)
    )


class GuardedForm(forms.Form):
    """A form that checks a secret of the user, as seldom as the sign-in does: what fails counts there too."""

    refusal = WRONG

    def __init__(self, data: Any, *, request: HttpRequest, user: Any) -> None:
        super().__init__(data)
        self.label_suffix, self.request, self.user = "", request, user

    def clean(self) -> dict[str, Any]:
        if not self.errors and (sentence := self._problem()):
            raise forms.ValidationError(sentence)
        return self.cleaned_data

    def is_right(self) -> bool:
        raise NotImplementedError

    def _problem(self) -> str:
        """Check in turn. The sentence is returned out of the turn, or the failure would not be kept."""
        return throttle.checked(self.request, self.user, self.is_right, self.refusal)


class CodeForm(GuardedForm):
    code = code_field("Six digits of your authenticator, or one of your recovery codes.", is_first=True)
    refusal = WRONG_CODE

    def is_right(self) -> bool:
        return codes.accept(self.user, self.cleaned_data["code"])


class SetUpForm(GuardedForm):
    password = throttle.password_field()
    code = code_field("The six digits that the authenticator shows now.")
    sealed = forms.CharField(widget=forms.HiddenInput, max_length=1000)

    field_order = ("password", "code")

    def __init__(self, data: Any, *, request: HttpRequest, user: Any) -> None:
        super().__init__(data, request=request, user=user)
        self.secret = codes.unseal(data.get("sealed", ""), user) if data else ""
        self.step = 0
        if not self.secret:
            self.secret = codes.new_secret()
            self.initial["sealed"] = codes.seal(self.secret, user)

    def is_right(self) -> bool:
        self.step = codes.step_of(self.secret, self.cleaned_data["code"])
        is_own_secret = codes.unseal(self.cleaned_data["sealed"], self.user) == self.secret
        return is_own_secret and self.step > 0 and self.user.check_password(self.cleaned_data["password"])


class PasswordForm(GuardedForm):
    password = throttle.password_field()
    refusal = throttle.WRONG_PASSWORD

    def is_right(self) -> bool:
        return bool(self.user.check_password(self.cleaned_data["password"]))


class RemoveForm(GuardedForm):
    password = throttle.password_field()
    code = code_field("Of your authenticator, or one of your recovery codes.")

    def is_right(self) -> bool:
        values = self.cleaned_data
        return self.user.check_password(values["password"]) and codes.accept(self.user, values["code"])
