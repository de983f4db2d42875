"""What lists and requests of the API have in common, tried on those of the catalogue."""

import pytest
from django.test import Client

from benchhub.accounts.models import Entry
from benchhub.api.conftest import pointers
from benchhub.bench.models import Run
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db
HARDWARE = {"name": "Big", "sockets": 2, "cores_per_socket": 16, "memory_gib": "256"}


def test_lists_are_filtered_ordered_and_paged_by_cursor(admin):
    for number in range(5):
        Hardware.objects.create(name=f"box {number}", sockets=1, cores_per_socket=1)
    page = admin.send("get", "hardware/?page_size=2&ordering=name").json()
    assert [row["name"] for row in page["results"]] == ["box 0", "box 1"]
    page = admin.get(page["next"]).json()
    assert [row["name"] for row in page["results"]] == ["box 2", "box 3"]
    rows = admin.send("get", "hardware/?name__icontains=X%204").json()["results"]
    assert [row["name"] for row in rows] == ["box 4"]


def test_a_filter_that_does_not_exist_and_a_bent_cursor_are_refused(admin, hardware):
    misspelt = admin.send("get", "hardware/?nmae=Box")
    assert (misspelt.status_code, pointers(misspelt)) == (400, ["?nmae"])
    assert admin.send("get", "hardware/?cursor=cD14JTAw&ordering=name").status_code == 404
    soon = admin.send("get", "prices/?priced_on__gte=soon")
    assert (soon.status_code, pointers(soon), soon.json()["detail"]) == (
        422,
        ["?priced_on__gte"],
        "Enter a valid date.",
    )
    far = {"at__gte": "2026-01-01T00:00:00+20:00"}
    assert admin.get("/api/v1/deliveries/", far).status_code == 200
    assert admin.get("/api/v1/deliveries/", {"at__gte": "0001-01-01T00:00:00+20:00"}).status_code == 422


@pytest.mark.parametrize("query", ["ordering=sockets", "page_size=many", "page_size=0"])
def test_what_a_list_cannot_do_is_refused_instead_of_left_undone(admin, hardware, query):
    answer = admin.send("get", f"hardware/?{query}")
    assert (answer.status_code, pointers(answer)) == (400, [f"?{query.partition('=')[0]}"])
    assert "id, name" in answer.json()["detail"] or "1 to 1000" in answer.json()["detail"]


def test_what_searches_nothing_takes_no_search(admin, hardware):
    assert admin.send("get", "runs/?search=x").status_code == 400
    assert admin.send("get", "hosts/?search=x").status_code == 200


def test_rows_that_are_alike_come_once_each_on_some_page(admin, experiment):
    """All runs were planned at one moment; the database gives what is alike in any order, so a key comes last."""
    Run.objects.update(created_at="2026-01-31T02:00:00Z")
    for ordering in ("created_at", "-created_at"):
        page = admin.send("get", f"runs/?ordering={ordering}&page_size=3").json()
        listed_keys = [row["id"] for row in page["results"]]
        while page["next"]:
            page = admin.get(page["next"]).json()
            listed_keys += [row["id"] for row in page["results"]]
        keys = sorted(experiment.runs.values_list("pk", flat=True))
        assert listed_keys == (keys if ordering == "created_at" else keys[::-1])


def test_what_has_not_changed_is_not_sent_again(admin, hardware):
    first = admin.send("get", f"hardware/{hardware.pk}/")
    again = admin.send("get", f"hardware/{hardware.pk}/", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = admin.send("get", f"hardware/{hardware.pk}/", headers={"If-None-Match": '"x"'})
    assert other.status_code == 200


def test_a_request_with_a_key_is_carried_out_once(admin):
    key = {"Idempotency-Key": "nightly-1"}
    first = admin.send("post", "hardware/", HARDWARE, headers=key)
    again = admin.send("post", "hardware/", HARDWARE, headers=key)
    assert (again.status_code, again.json(), again["Location"]) == (201, first.json(), first["Location"])
    assert again["Idempotent-Replayed"] == "true" and "Idempotent-Replayed" not in first
    other = admin.send("post", "hardware/", {**HARDWARE, "name": "Other"}, headers=key)
    assert other.status_code == 422 and "another request" in other.json()["detail"]
    assert Hardware.objects.count() == 1


def test_a_refused_request_does_not_use_its_key_up(admin):
    key = {"Idempotency-Key": "k"}
    assert admin.send("post", "hardware/", {**HARDWARE, "sockets": 0}, headers=key).status_code == 422
    assert admin.send("post", "hardware/", HARDWARE, headers=key).status_code == 201


def test_json_that_cannot_be_read_and_other_media_types_are_problems(admin):
    broken = admin.post("/api/v1/hardware/", "{", content_type="application/json")
    assert (broken.status_code, broken.json()["title"]) == (400, "The request cannot be read")
    assert admin.post("/api/v1/hardware/", "x", content_type="text/plain").status_code == 415
    for method in ("get", "post", "delete"):
        nowhere = Client(enforce_csrf_checks=True)
        answer = getattr(nowhere, method)("/api/v1/hosts/0.5/probe/")
        assert (answer.status_code, answer.json()["type"]) == (404, "/api/v1/problems/not-found")


def test_what_a_program_did_stands_in_the_audit_log_with_its_token(admin):
    admin.send("post", "hardware/", HARDWARE)
    entry = Entry.objects.get(way="api")
    assert (entry.username, entry.token, entry.status) == ("ada", "ci", 201)
    assert entry.address == "POST /api/v1/hardware/"


def test_a_person_browses_the_api_without_inline_script(client, admin, hardware):
    from benchhub.accounts.rights import Role
    from benchhub.accounts.testing import make_user

    client.force_login(make_user("eve", Role.ADMINISTRATOR))
    for path in ("", "hardware/", f"hardware/{hardware.pk}/", "experiments/"):
        page = client.get(f"/api/v1/{path}", headers={"Accept": "text/html"})
        text = page.content.decode()
        assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert "<script>" not in text and "onclick" not in text
    assert (
        f'href="http://testserver/api/v1/hardware/{hardware.pk}/'
        in client.get("/api/v1/hardware/?format=html").content.decode()
    )


def test_what_an_address_takes_is_offered_where_a_person_opens_it(client, admin, experiment):
    from benchhub.accounts.rights import Role
    from benchhub.accounts.testing import make_user

    client.force_login(make_user("eve", Role.ADMINISTRATOR))
    for path, method in (("tags/", "PUT"), ("cancel/", "POST"), ("", "PATCH")):
        page = client.get(f"/api/v1/experiments/{experiment.pk}/{path}", headers={"Accept": "text/html"})
        assert f"<option>{method}</option>" in page.content.decode()


def test_lists_take_a_fixed_number_of_queries(admin, experiment, django_assert_max_num_queries):
    for path in ("hosts/", "instances/", "hardware/", "price-sheets/", "experiments/", "runs/", "systems/", "users/"):
        with django_assert_max_num_queries(7):
            assert admin.send("get", path).status_code == 200
