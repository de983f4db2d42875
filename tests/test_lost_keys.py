"""With the key of its secrets gone, every page still answers: results need no key."""

import pytest
from cryptography.fernet import Fernet
from django.urls import reverse

from benchhub.catalog.models import Host, Instance

from .pages import PAGES

pytestmark = pytest.mark.django_db
OF_CURVES = {"comparisons", "laboratory", "tuning-steps"}  # which they are not told here


@pytest.fixture
def keyless(rows, settings):
    """Every host has a private key and every instance a password, and nobody can read them any more."""
    for host in Host.objects.all():
        host.make_key_pair()
        host.save()
    for instance in Instance.objects.all():
        instance.password = "s3cret"
        instance.save()
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
    return rows


def test_every_page_answers_without_the_key_of_the_secrets(client, keyless, django_user_model):
    user = django_user_model.objects.create_superuser("ada", password="engine")
    client.force_login(user)
    client.raise_request_exception = False
    answers = {}
    for page, row in PAGES.items():
        answers[page] = client.get(reverse(page, args=[keyless[row].pk] if row else [])).status_code
    answers["comparison of curves"] = client.get(
        reverse("compare"), {"experiment": keyless["experiment"].pk}
    ).status_code
    assert {page: code for page, code in answers.items() if code not in (200, 302)} == {}


def test_a_plan_is_made_and_a_run_cancelled_without_the_key(client, keyless, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("ada", password="engine"))
    waiting = keyless["waiting"]
    assert client.post(reverse("run-cancel", args=[waiting.pk])).status_code == 302
    waiting.refresh_from_db()
    assert waiting.cancel_asked_at or waiting.state == "cancelled"


def test_every_list_of_the_api_answers_without_the_key(client, keyless, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("ada", password="engine"))
    client.raise_request_exception = False
    root = client.get("/api/v1/").json()
    assert len(root) > 10
    answers = {name: client.get(address).status_code for name, address in root.items()}
    assert {name for name, code in answers.items() if code != 200} == OF_CURVES
    assert {answers[name] for name in OF_CURVES} == {400}
