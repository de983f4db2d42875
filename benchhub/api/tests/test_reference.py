"""The reference of the API says what its description says, in the order in which people read."""

import pytest

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.reference.contents import Content, Field, Reference
from benchhub.api.testing import described

DESCRIPTION = {
    "paths": {
        "/api/v1/boxes/": {
            "post": {
                "operationId": "boxes_create",
                "summary": "Add a box.",
                "description": "Add a box.\n\nIt is\nempty.\n\nTakes the scope `admin`.",
                "tags": ["boxes"],
                "security": [{"token": ["admin"]}, {"cookie": []}],
                "parameters": [{"$ref": "#/components/parameters/Key"}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Box"}}}},
                "responses": {"401": {}, "201": {"description": ""}},
            },
            "get": {
                "operationId": "boxes_list",
                "tags": ["boxes"],
                "security": [{"token": ["read"]}],
                "responses": {
                    "200": {
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/PaginatedBoxList"}},
                            "text/csv": {},
                        }
                    }
                },
            },
        }
    },
    "components": {
        "parameters": {"Key": {"name": "Key", "in": "header", "schema": {"type": "string", "maxLength": 2000}}},
        "schemas": {
            "Box": {
                "required": ["size_mb"],
                "properties": {
                    "size_mb": {"type": ["integer", "null"], "minimum": 1, "description": "In MB."},
                    "kind": {"enum": ["a", None], "type": "string", "description": "Which.\n\n* `a` - A"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
                },
                "examples": [{"size_mb": 5}],
            },
            "Part": {"properties": {"boxes": {"type": "array", "items": {"$ref": "#/components/schemas/Box"}}}},
            "PaginatedBoxList": {
                "properties": {"results": {"type": "array", "items": {"$ref": "#/components/schemas/Box"}}}
            },
        },
    },
}


def test_an_operation_says_what_it_takes_answers_and_needs():
    listing, adding = Reference(DESCRIPTION).resources["boxes"].operations
    assert (listing.method, listing.scope, listing.answer) == ("GET", "read", Content("Box", ("text/csv",), True))
    assert (adding.summary, adding.description, adding.scope) == ("Add a box.", "It is empty.", "admin")
    assert (adding.status, adding.request, adding.answer) == ("201", Content("Box"), None)
    assert adding.parameters == (Field("Key", "string", "", ("at most 2,000 characters",), where="header"),)
    assert adding.example == '{\n  "size_mb": 5\n}'


def test_bodies_come_with_those_that_they_hold_each_once():
    box, part = Reference(DESCRIPTION).resources["boxes"].bodies
    assert (box.name, part.name) == ("Box", "Part")
    assert box.fields == (
        Field("size_mb", "integer or null", "In MB.", ("at least 1",), is_required=True),
        Field("kind", "string", "Which.", values=("a",)),
        Field("parts", "list of object", "", bodies=("Part",)),
    )


@pytest.mark.django_db
def test_the_pages_name_every_operation_and_what_its_scope_is(client, django_assert_max_num_queries):
    client.force_login(make_user("vera", Role.VIEWER))
    page = client.get("/api/v1/docs").content.decode()
    assert [path for _, path in described() if f"<code>/api/v1/{path}</code>" not in page] == []
    assert client.get("/api/v1/docs/").status_code == 200
    with django_assert_max_num_queries(6):
        page = client.get("/api/v1/docs/deliveries/").content.decode()
    assert "<dt>Scope</dt><dd><code>ingest</code></dd>" in page
    assert "initial connection time" in page
    assert client.get("/api/v1/docs/nothing/").status_code == 404
