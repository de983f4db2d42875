"""Every address and every field that takes the key of a row, tried by a runner who may not touch that row.

Pages come from urls.py, operations and their fields from the API's description. A new one is tried without a line here,
or fails the test until its noun or its body is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from django import forms
from django.db import connection, transaction
from django.db.models import Model
from django.forms.formsets import BaseFormSet
from django.template import Context
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from benchhub.accounts import policy, tokens
from benchhub.accounts.models import Token
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.bench import testing
from benchhub.bench.models import Comparability, Protocol, Recurrence, Reservation, Window
from benchhub.bench.plan.testing import form_of as plan_form
from benchhub.bench.tuning.testing import form_of as series_form
from benchhub.bench.tuning.testing import make_workload
from benchhub.catalog.models import Host, Instance
from benchhub.reports.models import Comparison
from tests.everything import everything

pytestmark = pytest.mark.django_db

# Every runner may publish what others keep, and share what others published: both are copies.
OF_ALL_RUNNERS = {"comparison-publish", "link-new", "post kept-comparisons/{id}/publish/", "post snapshots/{id}/links/"}
# Their addresses hold a name, and no key of a row.
BY_NAME = {"presets", "published-reports"}
# What is read before who asks.
BODIES: dict[str, dict[str, Any]] = {
    "experiment-move": {"direction": "up"},
    "post experiments/{id}/move/": {"direction": "up"},
}
# Of integers without a bound of their own, those that take the key of a row which everybody may use, and numbers. Any
# other is taken for the key of a row of somebody, or of one whose use takes a permit.
LARGEST_KEY = 2**63 - 1
CATALOGUE = {"workload", "more_workloads", "configuration", "baseline", "hardware"}
NUMBERS = {"wal_segment_mib", "size", "window_days"}
FREE_MODELS = {"Workload", "Configuration", "Hardware"}
# How many steps away from what a page was made of a form may stand: page, draft, form.
DEPTH = 4
# Written by whatever is asked: who did what, what is answered if it is asked again, and when a token was last used.
NOT_ROWS = ["accounts_entry", "accounts_failure", "accounts_answer", "django_session", "accounts_token"]
TOKENS = "SELECT string_agg((to_jsonb(t) - 'used_at')::text, '' ORDER BY id) FROM accounts_token t"


@pytest.fixture
def owned() -> dict[str, Any]:
    """Return a row of somebody else for each noun with which an address begins."""
    made, ada = everything(), make_user("ada", Role.ADMINISTRATOR)
    program(ada, "read")
    first, second = sorted(Protocol.stored({"duration_s": seconds}).pk for seconds in (1, 2))
    words = {"reason": "The same but for its length.", "declared_by": ada}
    declaration = Comparability.objects.create(first_id=first, second_id=second, **words)
    Comparison.objects.update(created_by=ada)
    own, token = made["own instance"], Token.objects.get(owner=ada)
    by_noun = {
        "account": token, "builds": made["source build"], "clusters": own.cluster, "compare": declaration,
        "comparisons": made["comparison"], "configurations": made["configuration"], "declarations": declaration,
        "designs": made["design"], "experiments": made["experiment"], "hosts": made["host"], "instances": own,
        "kept-comparisons": made["comparison"], "licence-models": made["licence"], "links": made["link"],
        "price-sheets": made["sheet"], "prices": made["price"], "recurrences": Recurrence.objects.get(),
        "reservations": Reservation.objects.first(), "runs": made["waiting"], "snapshots": made["snapshot"],
        "source-builds": made["source build"], "times": Reservation.objects.first(), "tokens": token,
        "tuning": made["design"], "users": ada, "webhooks": made["webhook"], "windows": Window.objects.first(),
        "workloads": made["workload"],
    }  # fmt: skip
    return made | by_noun


@pytest.fixture
def rosa(owned):
    """Return a runner whose permit is for another host alone."""
    return make_user("rosa", Role.RUNNER, testing.make_host("elsewhere", "192.0.2.77"))


def addresses(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Return name and address of each page."""
    for pattern in resolver.url_patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, address) if pattern.namespace is None else ()
        elif pattern.name:
            yield pattern.name, address


def pages(resolver: URLResolver) -> Iterator[tuple[str, str]]:
    """Return name and address of each page that takes the key of a row."""
    return ((name, address) for name, address in addresses(resolver) if "<int:pk>" in address)


@cache
def description() -> Any:
    return SchemaGenerator().get_schema(request=None, public=True)


def operations() -> Iterator[tuple[str, str, Any]]:
    """Return method, path and description of each operation that changes something."""
    for path, methods in description()["paths"].items():
        for method, operation in methods.items():
            if method in ("post", "put", "patch", "delete"):
                yield method, path.removeprefix("/api/v1/"), operation


def writes() -> dict[str, Any]:
    """Return how many rows of each table were written within this transaction, whether or not that was undone.

    Of tokens it returns the rows as they are, but for when they were used.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables WHERE relname <> ALL(%s)",
            [NOT_ROWS],
        )
        numbers = dict(cursor.fetchall())
        cursor.execute(TOKENS)
        return {**numbers, "accounts_token": cursor.fetchone()[0]}


def tried(ask) -> tuple[Any, set[str]]:
    """Return what is answered, and the tables that were written; all of it is undone."""
    before = writes()
    with transaction.atomic():
        answer = ask()
        after = writes()
        transaction.set_rollback(True)
    return answer, {table for table, number in after.items() if number != before.get(table, 0)}


def is_refused(answer: Any) -> bool:
    return answer.status_code in (403, 404)


def writes_nothing(answer: Any, name: str) -> bool:
    """Return whether a page of all viewers takes no posts, or has not even read what was posted."""
    has_read = hasattr(answer.wsgi_request, "_post")
    return policy.least_role(name) == Role.VIEWER and (answer.status_code == 405 or not has_read)


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_no_page_changes_a_row_that_is_not_its_reader_s(owned, rosa):
    client, wrong = signed_in(rosa), []
    for name, address in pages(get_resolver()):
        if name in OF_ALL_RUNNERS or policy.least_role(name) == Role.ADMINISTRATOR:
            continue
        path = address.replace("<int:pk>", str(owned[address.partition("/")[0]].pk))
        if "<" in path:
            continue
        answer, tables = tried(lambda path=path, name=name: client.post(f"/{path}", BODIES.get(name, {})))
        is_right = is_refused(answer) or writes_nothing(answer, name)
        wrong += [(name, answer.status_code, tables)] if tables or not is_right else []
    assert not wrong, "\n".join(map(str, wrong))


def test_no_operation_changes_a_row_that_is_not_its_caller_s(owned, rosa):
    api, wrong = program(rosa, *tokens.SCOPES), []
    for method, path, _ in operations():
        name, noun = f"{method} {path}", path.partition("/")[0]
        if "{id}" not in path or noun in BY_NAME or name in OF_ALL_RUNNERS:
            continue
        address = path.replace("{id}", str(owned[noun].pk))
        answer, tables = tried(lambda m=method, a=address, n=name: api.send(m, a, BODIES.get(n, {})))
        wrong += [(name, answer.status_code, tables)] if tables or answer.status_code != 403 else []
    assert not wrong, "\n".join(map(str, wrong))


def fields(node: Any, steps: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Return the steps to each guarded field of a body, in objects and lists: ("systems", "0", "instance")."""
    if "$ref" in node:
        node = description()["components"]["schemas"][node["$ref"].rpartition("/")[2]]
    for part in [*node.get("allOf", []), *node.get("oneOf", []), *node.get("anyOf", [])]:
        yield from fields(part, steps)
    is_unbounded = "integer" in node.get("type", ()) and node.get("maximum", LARGEST_KEY) >= LARGEST_KEY
    if is_unbounded and noun_of(steps) not in CATALOGUE | NUMBERS:
        yield steps
    if "items" in node:
        yield from fields(node["items"], (*steps, "0"))
    for name, field in node.get("properties", {}).items():
        yield from fields(field, (*steps, name))


def noun_of(steps: tuple[str, ...]) -> str:
    """Return the name of a field, for one of a list that of the list."""
    return next((step for step in reversed(steps) if step != "0"), "")


def guarded() -> set[tuple[str, tuple[str, ...]]]:
    """Return path and steps of each field that takes the key of a guarded row, of operations of runners."""
    return {
        (path, steps)
        for _, path, operation in operations()
        if "scope `admin`" not in operation["description"]
        for content in operation.get("requestBody", {}).get("content", {}).values()
        for steps in fields(content["schema"])
    }


def put(value: Any, steps: tuple[str, ...], key: int) -> Any:
    """Return a body, or a part of it, with a key at the end of some steps."""
    if not steps:
        return key
    step, *rest = steps
    if step == "0":
        return [put((value or [None])[0], tuple(rest), key)]
    return {**(value or {}), step: put((value or {}).get(step), tuple(rest), key)}


def test_keys_are_looked_for_in_every_part_of_a_body():
    key, bounded = {"type": ["integer", "null"]}, {"type": "integer", "maximum": 99}
    part = {"type": "object", "properties": {"host": key, "port": bounded, "workload": key}}
    lists = {"runs": {"type": "array", "items": key}, "systems": {"type": "array", "items": {"allOf": [part]}}}
    body = {"properties": {**lists, "more": {"oneOf": [part]}, "anything": key}}
    steps = [("runs", "0"), ("systems", "0", "host"), ("more", "host"), ("anything",)]
    assert list(fields(body)) == steps
    typed = {"systems": [{"path": "tcp"}]}
    assert put(put(typed, steps[0], 7), steps[1], 8) == {"runs": [7], "systems": [{"path": "tcp", "host": 8}]}


def request_bodies(owned, own_host):
    """Return by its path what makes a row of each kind, but for the key that is put in."""
    plain = owned["idle configuration"].pk
    start = timezone.now() + timedelta(days=365)
    plan = {"name": "x", "workload": owned["workload"].pk, "levels": "1"}
    return {
        "clusters/": {"name": "x", "build": "/opt/pg18/bin", "configuration": plain},
        "experiments/": {**plan, "systems": [{"hardware": owned["hardware"].pk, "configuration": plain}]},
        "inspections/": {"instance": owned["instance"].pk, "driver": own_host},
        "recurrences/": {"weekdays": [0], "starts_at": "01:00"},
        "reservations/": {"start": f"{start:%Y-%m-%dT%H:%M}", "end": f"{start + timedelta(hours=1):%Y-%m-%dT%H:%M}"},
        "source-builds/": {"release": "17.2", "configure_options": "--without-icu"},
        "tuning-series/": {**plan, "steps": [{"name": "memory", "settings": {"work_mem": "8MB"}}]},
        "windows/": {"weekdays": [0], "starts_at": "01:00", "ends_at": "02:00"},
    }


def page_forms(owned, own, hers):
    """Return by class and name of the field the forms whose key is that of an instance or a host, with their paths."""
    workload, plain = owned["workload"], owned["idle configuration"].pk
    system = {"systems-0-hardware": owned["hardware"].pk, "systems-0-configuration": plain, "queue": "1"}
    driver = {"systems-0-driver": own.host_id}
    return {
        "DriverForm.driver": (f"instances/{hers.pk}/test/ask", {"driver": own.host_id}),
        "SystemForm.instance": ("experiments/new", plan_form(workload, own, **system)),
        "SystemForm.driver": ("experiments/new", plan_form(workload, hers, **system, **driver)),
        "SeriesForm.instance": ("tuning/new", series_form(own, workload, ("memory", "work_mem = 8MB"), queue="1")),
    }


def forms_in(value: Any, depth: int = DEPTH) -> Iterator[forms.BaseForm]:
    """Yield the forms of a page, wherever they stand in what it was made of."""
    if isinstance(value, forms.BaseForm):
        yield value
    elif isinstance(value, BaseFormSet):
        yield from value.forms
    elif depth and isinstance(value, list | tuple):
        yield from (form for inner in value for form in forms_in(inner, depth - 1))
    elif depth and type(value).__module__.startswith("benchhub.") and not isinstance(value, Model):
        yield from (form for inner in getattr(value, "__dict__", {}).values() for form in forms_in(inner, depth - 1))


def model_of(field: Any) -> str:
    """Return the name of the model whose rows a field lets choose; empty for a field of anything else."""
    if isinstance(field, forms.ModelChoiceField):
        return field.queryset.model.__name__
    keys = [str(key) for key, _ in getattr(field, "choices", ()) if str(key).isdigit()]
    row = field.coerce(keys[0]) if keys and hasattr(field, "coerce") else None
    return type(row).__name__ if isinstance(row, Model) else ""


def guarded_choices(client: Client, owned: dict[str, Any]) -> set[str]:
    """Return class and name of each field in which a page of runners lets choose a row that takes a right."""
    names = {name for name, _ in addresses(get_resolver())}
    fields = set()
    for name, address in addresses(get_resolver()):
        is_sent = f"{name}-ask" in names
        if policy.least_role(name) != Role.RUNNER and not (is_sent and policy.least_role(name) == Role.VIEWER):
            continue
        noun = address.partition("/")[0]
        path = address.replace("<int:pk>", str(owned[noun].pk)) if "<int:pk>" in address else address
        # A new experiment starts with a question, and has no field before it is answered.
        context = client.get(f"/{path}", {"question": "free"}).context if "<" not in path else None
        contexts = [context] if isinstance(context, Context) else context or ()
        values = [value for each in contexts for value in each.flatten().values()]
        for form in (form for value in values for form in forms_in(value)):
            guarded = [field for field, made in form.fields.items() if model_of(made) not in {"", *FREE_MODELS}]
            fields |= {f"{type(form).__name__}.{field}" for field in guarded}
    return fields


def test_each_field_in_which_a_page_of_runners_lets_choose_a_guarded_row_is_tried(owned):
    """Found in the forms themselves: a new one fails here until it is in `page_forms`."""
    client, own = signed_in(make_user("root", Role.ADMINISTRATOR)), owned["own instance"]
    fields = guarded_choices(client, owned | {"instances": owned["instance"]})  # a cluster's own instance has no test
    assert fields == page_forms(owned | {"workload": make_workload()}, own, own).keys()


def test_no_field_takes_the_key_of_a_row_on_which_its_sender_may_not_act(owned, rosa):
    """An administrator's is taken: nothing else than the right is missing."""
    own = owned["own instance"]
    owned["workload"] = make_workload()
    root = make_user("root", Role.ADMINISTRATOR)
    ada, api = program(root, *tokens.SCOPES), program(rosa, *tokens.SCOPES)
    keys = {"host": own.host_id, "instance": own.pk, "experiment": owned["experiment"].pk, "driver": own.host_id}
    own_host = rosa.permit.hosts.get().pk
    hers = testing.make_instance(rosa.permit.hosts.get(), "17")
    plain = owned["idle configuration"].pk
    Instance.objects.filter(pk__in=[own.pk, hers.pk]).update(configuration=plain)
    Host.objects.filter(pk=own.host_id).update(hardware=owned["hardware"])
    bodies = request_bodies(owned, own_host)
    wrong = []
    for path, steps in sorted(guarded()):
        body, noun = bodies[path.replace("plan/", "")], noun_of(steps)
        body = put(body, steps, body.get(noun) if path == "inspections/" and noun == "instance" else keys[noun])
        if noun == "driver":
            body = put(body, (*steps[:-1], "instance"), hers.pk)
        answer, tables = tried(lambda path=path, body=body: api.send("post", path, body))
        status = answer.status_code
        wrong += [("taken", path, steps, status, tables)] if tables or status not in (403, 422) else []
        answer, _ = tried(lambda path=path, body=body: ada.send("post", path, body))
        wrong += [("refused", path, steps, answer.status_code)] if answer.status_code >= 400 else []
    browser_of_root, browser = signed_in(root), signed_in(rosa)
    for name, (path, form) in page_forms(owned, own, hers).items():
        _, tables = tried(lambda path=path, form=form: browser.post(f"/{path}", form))
        wrong += [("taken", name, tables)] if tables else []
        _, tables = tried(lambda path=path, form=form: browser_of_root.post(f"/{path}", form))
        wrong += [("refused", name)] if not tables else []
    assert not wrong, "\n".join(map(str, wrong))
