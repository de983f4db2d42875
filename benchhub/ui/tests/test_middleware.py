import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"
HTMX = {"HX-Request": "true"}


def test_a_part_that_needs_a_sign_in_sends_the_whole_page_there(client):
    answer = client.get("/compare/?experiment=1&term=5", headers=HTMX)
    assert (answer.status_code, answer["HX-Redirect"]) == (204, "/compare/?experiment=1&term=5")
    assert client.get("/compare/?experiment=1").status_code == 302


def test_a_form_that_was_sent_meanwhile_loads_its_page_again(client):
    answer = client.post(reverse("experiment-plan"), headers=HTMX)
    assert answer["HX-Refresh"] == "true"
    assert "HX-Redirect" not in answer


def test_a_form_with_an_old_token_loads_its_page_again():
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(get_user_model().objects.create_superuser("ada"))
    assert strict.post(reverse("experiment-plan"), headers=HTMX)["HX-Refresh"] == "true"
    assert strict.post(reverse("experiment-plan")).status_code == 403


def test_what_is_there_is_answered_alike_with_htmx_and_without(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    plain, part = client.get("/"), client.get("/", headers=HTMX)
    assert plain.status_code == part.status_code == 200
    assert not {"HX-Redirect", "HX-Refresh"} & part.headers.keys()
    assert client.get("/nowhere", headers=HTMX).status_code == 404


@pytest.mark.parametrize("checks", [True, False])
def test_a_form_that_is_too_large_is_answered_with_the_limit_and_what_to_do(checks):
    strict = Client(enforce_csrf_checks=checks)
    strict.force_login(get_user_model().objects.create_superuser("ada"))
    strict.get(reverse("workload-add"))
    answer = strict.post(reverse("workload-add"), f"name={'x' * 6_000_000}", content_type=FORM)
    assertContains(answer, "has 5.7\xa0MB, and a form may have 2.5\xa0MB at most", status_code=413)
    assertContains(answer, "which keeps what you typed", status_code=413)


def test_what_no_page_sends_is_answered_with_a_page():
    answer = Client(headers={"Host": "a b"}).get("/")
    assertContains(answer, "This cannot be taken", status_code=400)
