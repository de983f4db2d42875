import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from benchhub.accounts import audit, rights, tokens
from benchhub.accounts.models import Entry, Permit, Token
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import PASSWORD, make_user, with_password
from benchhub.bench import testing

pytestmark = pytest.mark.django_db
MONTH = timedelta(days=30)
PROOF = {"own_password": PASSWORD}


@pytest.fixture
def admin(client):
    client.force_login(with_password(make_user("ada", Role.ADMINISTRATOR)))
    return client


@pytest.fixture
def host():
    return testing.make_host()


@pytest.fixture
def experiment(host):
    system = testing.make_system("18", host, testing.make_box())
    planned = testing.make_experiment([system])
    testing.make_run(planned, system, 1, 1)
    return planned


def signed_in(client, role, *hosts):
    client.force_login(make_user("someone", role, *hosts))
    return client


def page_text(response):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def test_a_viewer_sees_an_experiment_and_cannot_plan_or_cancel(client, experiment):
    viewer = signed_in(client, Role.VIEWER)
    assert viewer.get(reverse("experiment", args=[experiment.pk])).status_code == 200
    for name in ("experiment-cancel", "experiment-pause", "again"):
        assert viewer.post(reverse(name, args=[experiment.pk])).status_code == 403
    refused = viewer.get(reverse("experiment-new"))
    assert refused.status_code == 403
    assert "takes the role of a runner" in page_text(refused)
    assert experiment.runs.get().cancel_asked_at is None


def test_a_runner_cancels_on_a_host_of_the_permit_and_on_no_other(client, experiment, host):
    other = signed_in(client, Role.RUNNER, testing.make_host("other", "192.0.2.9"))
    address = reverse("experiment-cancel", args=[experiment.pk])
    refused = other.post(address)
    assert (refused.status_code, "no permit to run on box" in page_text(refused)) == (403, True)
    assert other.post(reverse("run-cancel", args=[experiment.runs.get().pk])).status_code == 403
    assert other.post(reverse("host-pause", args=[host.pk])).status_code == 403
    assert other.post(reverse("experiment-times-once", args=[experiment.pk])).status_code == 403
    Permit.objects.get(user__username="someone").hosts.add(host)
    assert other.post(address).status_code == 302
    assert experiment.runs.get().state == "cancelled"


def test_a_runner_cannot_edit_the_catalogue_or_approve_a_key(client, host):
    runner = signed_in(client, Role.RUNNER, host)
    for name, args in (("hardware-add", []), ("host-add", []), ("host-approve", [host.pk]), ("users", [])):
        assert runner.post(reverse(name, args=args)).status_code == 403
    assert runner.get(reverse("hosts")).status_code == 200


def test_the_navigation_shows_users_to_administrators_only(client):
    assert "Users" not in page_text(signed_in(client, Role.RUNNER).get("/"))
    client.force_login(make_user("ada", Role.ADMINISTRATOR))
    assert "Users" in page_text(client.get("/"))


def test_a_user_is_added_with_role_and_permit_and_can_sign_in(admin, client, host):
    form = {"username": "rosa", "role": "2", "hosts": [host.pk], "password": PASSWORD, "is_active": "on", **PROOF}
    assert admin.post(reverse("user-add"), form).status_code == 302
    rosa = get_user_model().objects.get(username="rosa")
    assert rights.role(rosa) == Role.RUNNER
    assert rights.denied_hosts(rosa, [host.pk]) == set()
    assert client.login(username="rosa", password=PASSWORD)


def test_an_administrator_lets_another_write_scripts_and_the_audit_log_says_so(admin):
    rosa = make_user("rosa", Role.ADMINISTRATOR)
    address, form = reverse("user-edit", args=[rosa.pk]), {"username": "rosa", "role": "3", "is_active": "on", **PROOF}
    assert "writes scripts" not in page_text(admin.get(reverse("users")))
    assert admin.post(address, {**form, "may_write_scripts": "on"}).status_code == 302
    assert get_user_model().objects.get(pk=rosa.pk).has_perm("catalog.write_scripts")
    assert not get_user_model().objects.get(username="ada").has_perm("catalog.write_scripts")
    assert "administrator writes scripts" in page_text(admin.get(reverse("users")))
    admin.post(address, {**form, "may_write_scripts": "on"})
    admin.post(address, form)
    assert not get_user_model().objects.get(pk=rosa.pk).has_perm("catalog.write_scripts")
    actions = list(Entry.objects.filter(action__startswith="right").order_by("pk").values_list("action", flat=True))
    assert actions == ["right to write scripts given to rosa", "right to write scripts withdrawn from rosa"]


def test_the_right_to_write_scripts_survives_a_lock_and_is_refused_to_who_edits_no_workloads(admin):
    rosa = make_user("rosa", Role.ADMINISTRATOR)
    rights.let_write_scripts(rosa, True)
    address = reverse("user-edit", args=[rosa.pk])
    admin.post(address, {"username": "rosa", "role": "3", "may_write_scripts": "on"})
    assert admin.get(address).context["page"].form["may_write_scripts"].value() is True
    answer = admin.post(address, {"username": "rosa", "role": "2", "may_write_scripts": "on", "is_active": "on"})
    assert "choose that role, or clear this" in page_text(answer)
    assert rights.role(get_user_model().objects.get(pk=rosa.pk)) == Role.ADMINISTRATOR


def test_nobody_gives_themselves_the_right_to_write_scripts_but_who_has_it_keeps_it(admin):
    ada = get_user_model().objects.get(username="ada")
    address, form = reverse("user-edit", args=[ada.pk]), {"username": "ada", "role": "3", "is_active": "on"}
    answer = admin.post(address, {**form, "may_write_scripts": "on"})
    assert "You cannot give yourself this right: let another administrator do it." in page_text(answer)
    assert not get_user_model().objects.get(pk=ada.pk).has_perm("catalog.write_scripts")
    rights.let_write_scripts(ada, True)
    assert admin.post(address, {**form, "may_write_scripts": "on"}).status_code == 302
    assert get_user_model().objects.get(pk=ada.pk).has_perm("catalog.write_scripts")


def test_a_superuser_has_every_right_and_loses_them_with_the_role(client):
    client.force_login(get_user_model().objects.create_superuser("head"))
    admin, root = client, get_user_model().objects.create_superuser("root")
    address = reverse("user-edit", args=[root.pk])
    assert "A superuser may do everything." in page_text(admin.get(address))
    assert admin.post(address, {"username": "root", "role": "3", "is_active": "on"}).status_code == 302
    assert get_user_model().objects.get(pk=root.pk).is_superuser
    assert admin.post(address, {"username": "root", "role": "1", "is_active": "on"}).status_code == 302
    assert not get_user_model().objects.get(pk=root.pk).has_perm("catalog.write_scripts")


def test_a_weak_password_is_refused_beside_its_field(admin):
    form = {"username": "rosa", "role": "1", "password": "12345", "is_active": "on", **PROOF}
    answer = admin.post(reverse("user-add"), form)
    assert (answer.status_code, "too short" in page_text(answer)) == (200, True)
    assert not get_user_model().objects.filter(username="rosa").exists()


def test_nobody_takes_the_last_rights_from_themselves(admin):
    ada = get_user_model().objects.get(username="ada")
    answer = admin.post(reverse("user-edit", args=[ada.pk]), {"username": "ada", "role": "1"})
    assert "take this role from yourself" in page_text(answer) and "lock yourself out" in page_text(answer)
    assert rights.role(get_user_model().objects.get(pk=ada.pk)) == Role.ADMINISTRATOR


def test_a_locked_account_is_signed_out_and_its_tokens_open_nothing(admin, client):
    rosa = make_user("rosa", Role.RUNNER)
    _, plain = tokens.issue(rosa, "ci", ["read"], timezone.now() + MONTH)
    assert tokens.find(plain) is not None
    admin.post(reverse("user-edit", args=[rosa.pk]), {"username": "rosa", "role": "2"})
    assert tokens.find(plain) is None


def test_a_token_is_shown_once_and_kept_as_a_digest(client):
    runner = signed_in(client, Role.RUNNER)
    with_password(get_user_model().objects.get(username="someone"))
    runner.force_login(get_user_model().objects.get(username="someone"))
    sent = {"name": "ci", "scopes": ["read", "ingest"], "days": "30", "password": PASSWORD}
    answer = runner.post(reverse("token-add"), sent)
    plain = re.search(r"bh_[\w-]{43}", answer.content.decode())[0]
    token = Token.objects.get()
    assert token.digest != plain and plain not in str(vars(token))
    assert token.scopes == ["read", "ingest"]
    assert tokens.find(plain) == token
    assert plain not in runner.get(reverse("account")).content.decode()


def test_a_token_cannot_be_wider_than_its_owner(client):
    viewer = with_password(make_user("vera", Role.VIEWER))
    client.force_login(viewer)
    sent = {"name": "ci", "scopes": ["read", "admin"], "days": "30", "password": PASSWORD}
    answer = client.post(reverse("token-add"), sent)
    assert answer.context["page"].form.errors.keys() == {"scopes"}
    assert answer.status_code == 200 and not Token.objects.exists()


def test_a_token_shrinks_with_the_role_of_its_owner():
    owner = make_user("rosa", Role.ADMINISTRATOR)
    token, _ = tokens.issue(owner, "ci", ["read", "admin"], timezone.now() + MONTH)
    assert tokens.may(owner, token, "admin") and not tokens.may(owner, token, "run")
    rights.give_role(owner, Role.VIEWER)
    assert tokens.may(owner, token, "read") and not tokens.may(owner, token, "admin")


def test_an_expired_and_a_revoked_token_open_nothing(client):
    runner = signed_in(client, Role.RUNNER)
    owner = get_user_model().objects.get(username="someone")
    _, late = tokens.issue(owner, "late", ["read"], timezone.now() - timedelta(seconds=1))
    token, plain = tokens.issue(owner, "ci", ["read"], timezone.now() + MONTH)
    assert tokens.find(late) is None
    assert runner.post(reverse("token-revoke", args=[token.pk])).status_code == 302
    assert tokens.find(plain) is None


def test_nobody_revokes_the_token_of_another_but_an_administrator(client):
    token, plain = tokens.issue(make_user("rosa", Role.RUNNER), "ci", ["read"], timezone.now() + MONTH)
    assert signed_in(client, Role.RUNNER).post(reverse("token-revoke", args=[token.pk])).status_code == 404
    assert tokens.find(plain) == token


def test_sign_in_is_refused_after_five_wrong_passwords_even_with_the_right_one(client):
    get_user_model().objects.create_user("rosa", password=PASSWORD)
    wrong, right = {"username": "Rosa", "password": "x"}, {"username": "rosa", "password": PASSWORD}
    for _ in range(5):
        assert "do not match" in page_text(client.post(reverse("login"), wrong))
    assert "Too many failed attempts" in page_text(client.post(reverse("login"), right))
    assert "_auth_user_id" not in client.session
    elsewhere = client.post(reverse("login"), right, REMOTE_ADDR="192.0.2.7")
    assert elsewhere.status_code == 302  # guessing from one place keeps nobody out who is in another


def test_a_success_forgets_the_failures_before_it(client):
    get_user_model().objects.create_user("rosa", password=PASSWORD)
    wrong, right = {"username": "rosa", "password": "x"}, {"username": "rosa", "password": PASSWORD}
    for _ in range(4):
        client.post(reverse("login"), wrong)
    assert client.post(reverse("login"), right).status_code == 302
    client.logout()
    client.post(reverse("login"), wrong)
    assert client.post(reverse("login"), right).status_code == 302


def test_the_audit_log_says_who_did_what_and_who_was_refused(client, experiment):
    viewer = signed_in(client, Role.VIEWER)
    viewer.post(reverse("experiment-cancel", args=[experiment.pk]))
    entry = Entry.objects.get(action="experiment cancel")
    assert (entry.username, entry.outcome, entry.way) == ("someone", "refused", "web")
    client.force_login(make_user("ada", Role.ADMINISTRATOR))
    client.post(reverse("experiment-cancel", args=[experiment.pk]))
    log_text = page_text(client.get(reverse("audit-log")))
    assert f"POST /experiments/{experiment.pk}/cancel" in log_text and "ada" in log_text


def test_looking_and_a_form_that_was_not_saved_are_no_acts(admin):
    admin.get(reverse("hosts"))
    admin.post(reverse("host-add"), {"name": "x"})
    assert set(Entry.objects.values_list("action", flat=True)) == {audit.SIGN_IN}


def test_a_line_of_the_audit_log_can_be_neither_changed_nor_deleted(admin):
    for change in (lambda: Entry.objects.update(username="x"), lambda: Entry.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


@pytest.mark.parametrize("table", ["accounts_entry", "reports_snapshot", "reports_projection"])
def test_the_audit_log_and_what_was_published_cannot_be_emptied(table):
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER never_emptied")
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            cursor.execute(f"TRUNCATE {table} CASCADE")


def test_lists_of_users_and_of_the_log_take_a_fixed_number_of_queries(admin, django_assert_max_num_queries):
    for number in range(20):
        make_user(f"user{number}", Role.RUNNER)
    with django_assert_max_num_queries(8):
        admin.get(reverse("users"))
    with django_assert_max_num_queries(5):
        admin.get(reverse("audit-log"))
