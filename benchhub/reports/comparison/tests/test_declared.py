import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Comparability, Protocol, Result
from benchhub.reports.testing import address, figure_of, key

pytestmark = pytest.mark.django_db
REASON = "The longer runs only add minutes of the same steady state, as their series show."


@pytest.fixture
def longer(systems):
    experiment = testing.make_experiment(systems, name="Longer")
    protocol = Protocol.stored({"path": "socket", "duration_s": 300})
    for repeat, tps in enumerate((1230.0, 1234.0, 1238.0), start=1):
        testing.succeeded(testing.make_run(experiment, systems[1], 8, repeat, protocol=protocol), tps)
    return experiment


@pytest.fixture
def page(repeated, longer, systems):
    return address(key(repeated, systems[0]), key(longer, systems[1]))


def test_a_declaration_with_its_reason_lets_different_protocols_be_compared(reader, page):
    assertContains(reader.get(page), "These curves are not compared")
    assertRedirects(reader.post(page, {"reason": REASON}), page)
    response = reader.get(page)
    assertContains(response, REASON)
    assertContains(response, '<p class="caption">ada, <time')
    assertContains(response, "PostgreSQL 18 gives 1.23x the throughput of PostgreSQL 16")
    assertContains(response, '<th scope="row">duration</th>')
    assert figure_of(response) is not None


@pytest.mark.parametrize("reason", ["", "   ", "It is fine."])
def test_a_declaration_without_a_real_reason_is_refused_and_nothing_is_compared(reader, page, reason):
    response = reader.post(page, {"reason": reason})
    assert response.status_code == 200
    assertContains(response, 'role="alert"')
    assertContains(response, "These curves are not compared")
    assert not Comparability.objects.exists()


def test_a_declaration_that_is_withdrawn_compares_nothing_and_stays_on_record(reader, page):
    reader.post(page, {"reason": REASON})
    declaration = Comparability.objects.get()
    response = reader.post(reverse("comparability-withdraw", args=[declaration.pk]), {"back": page})
    assertRedirects(response, page)
    assertContains(reader.get(page), "These curves are not compared")
    declaration.refresh_from_db()
    assert declaration.withdrawn_by.username == "ada"
    reader.post(page, {"reason": REASON})
    assert Comparability.objects.count() == 2


def test_a_declaration_is_withdrawn_by_who_made_it_or_an_administrator(reader, page):
    reader.post(page, {"reason": REASON})
    Comparability.objects.update(declared_by=get_user_model().objects.create_user("grace"))
    runner = Client()
    runner.force_login(make_user("rosa", Role.RUNNER))
    assertContains(reader.get(page), "Withdraw this declaration")
    assertNotContains(runner.get(page), "Withdraw this declaration")
    response = runner.post(reverse("comparability-withdraw", args=[Comparability.objects.get().pk]))
    assert response.status_code == 403
    assert Comparability.objects.standing().count() == 1


def test_withdrawing_leads_to_no_other_host(reader, page):
    reader.post(page, {"reason": REASON})
    pk = Comparability.objects.get().pk
    response = reader.post(reverse("comparability-withdraw", args=[pk]), {"back": "https://example.com/"})
    assertRedirects(response, "/compare/", fetch_redirect_response=False)


def test_unlike_units_cannot_be_declared_comparable(reader, page, longer):
    Result.objects.filter(run__experiment=longer).update(unit="NOPM")
    assertNotContains(reader.get(page), "Declare them comparable")
    assertContains(reader.post(page, {"reason": REASON}), "These curves are not compared")
    assert not Comparability.objects.exists()


def test_a_third_protocol_needs_a_declaration_of_its_own(reader, page, systems):
    reader.post(page, {"reason": REASON})
    third = testing.make_experiment(systems, name="Third")
    run = testing.make_run(third, systems[0], 8, 1, protocol=Protocol.stored({"path": "socket", "duration_s": 9}))
    testing.succeeded(run, 1.0)
    assertContains(reader.get(f"{page}&curve={key(third, systems[0])}"), "These curves are not compared")


def test_the_database_keeps_a_declaration_in_order_once_and_with_a_reason(repeated, longer):
    first, second = sorted(Protocol.objects.values_list("pk", flat=True))
    ada = get_user_model().objects.create_user("grace")
    good = {"first_id": first, "second_id": second, "reason": REASON, "declared_by": ada}
    Comparability.objects.create(**good)
    for wrong in ({}, {"first_id": second, "second_id": first}, {"second_id": first}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Comparability.objects.create(**{**good, **wrong})


def test_nothing_is_declared_without_signing_in(client, page):
    assert client.post(page, {"reason": REASON}).status_code == 302
    assert not Comparability.objects.exists()


def test_tuning_steps_show_the_declaration_that_they_rest_on(reader, page):
    steps = page.replace("/compare/?", "/compare/steps/?")
    assertContains(reader.get(steps), "different protocols or in different units")
    reader.post(page, {"reason": REASON})
    assertContains(reader.get(steps), REASON)
