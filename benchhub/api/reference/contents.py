"""The reference of the API, read out of its OpenAPI description: resources, operations, and the fields of bodies."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Schema = Mapping[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
JSON, NDJSON = "application/json", "application/x-ndjson"
LARGEST = 2**31 - 1  # of an integer in PostgreSQL: a limit that says nothing
LOOKUPS = {
    "gte": "From this on.",
    "gt": "More than this.",
    "lte": "Up to this.",
    "lt": "Less than this.",
    "icontains": "Contains this, in capitals or not.",
    "isnull": "True: only rows without it; false: only rows with it.",
    "in": "Several, separated by commas.",
}
# drf-spectacular words each value of an enumeration in a list below the description.
_LISTED_VALUES = re.compile(r"\n*^\* `.*", re.MULTILINE | re.DOTALL)
_SCOPE_SENTENCE = re.compile(r"\s*Takes the scope `\w+`\.$")
_LIMITS = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("maxLength", "at most {} characters"),
    ("pattern", "matches {}"),
)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a body or a parameter; `bodies` are the names of the bodies that it holds."""

    name: str
    kind: str
    description: str
    limits: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    where: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """What a request or an answer holds; `example` is JSON, empty where there is none."""

    name: str
    description: str
    fields: tuple[Field, ...]
    example: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What an operation takes or answers: a body by name, or a format; `is_page` says that it is a page of a list."""

    body: str = ""
    formats: tuple[str, ...] = ()
    is_page: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    anchor: str
    method: str
    path: str
    summary: str
    description: str
    scope: str
    status: str
    parameters: tuple[Field, ...]
    request: Content | None
    answer: Content | None
    example: str = ""

    @property
    def command(self) -> str:
        """Return the example as a line of shell, with address and token in variables as the client has them."""
        return (
            f'curl -X {self.method} "$BENCHHUB_URL{self.path}" \\\n  -H "Authorization: Bearer $BENCHHUB_TOKEN" \\\n'
            f"  -H 'Content-Type: application/json' -d @- <<'END'\n{self.example}\nEND"
        )


@dataclass(frozen=True)
class Resource:
    """Operations on one noun, and every body that they take or answer."""

    name: str
    operations: tuple[Operation, ...] = field(default=())
    bodies: tuple[Body, ...] = field(default=())

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").capitalize()


class Reference:
    """Reads an OpenAPI 3.1 description."""

    def __init__(self, description: Schema) -> None:
        self._description = description
        self._schemas: Mapping[str, Schema] = description["components"]["schemas"]

    @cached_property
    def resources(self) -> Mapping[str, Resource]:
        """Return the resources by name, in the order of the alphabet."""
        operations = defaultdict(list)
        for path, method, operation in self._operations():
            operations[operation["tags"][0]].append(self._operation(path, method, operation))
        return {
            name: Resource(name, tuple(operations[name]), self._bodies(operations[name])) for name in sorted(operations)
        }

    def _operations(self) -> Iterator[tuple[str, str, Schema]]:
        for path, operations in self._description["paths"].items():
            yield from ((path, method, operations[method]) for method in METHODS if method in operations)

    def _operation(self, path: str, method: str, operation: Schema) -> Operation:
        status, answer = next((code, answer) for code, answer in operation["responses"].items() if code.startswith("2"))
        summary = operation.get("summary", "")
        description = _SCOPE_SENTENCE.sub("", operation.get("description", ""))
        return Operation(
            anchor=operation["operationId"],
            method=method.upper(),
            path=path,
            summary=summary,
            description=" ".join(description.split()).removeprefix(summary).strip(),
            scope=next((scopes[0] for names in operation["security"] for scopes in names.values() if scopes), ""),
            status=status,
            parameters=tuple(self._parameter(parameter) for parameter in operation.get("parameters", ())),
            request=self._content(operation.get("requestBody", {})),
            answer=self._content(answer),
            example=self._request_example(operation.get("requestBody", {})),
        )

    def _parameter(self, parameter: Schema) -> Field:
        parameter = self._resolved(parameter)
        is_required = bool(parameter.get("required"))
        return self._field(
            parameter["name"], {**parameter["schema"], "description": parameter.get("description", "")}, is_required,
            parameter["in"],
        )  # fmt: skip

    def _content(self, message: Schema) -> Content | None:
        content = message.get("content", {})
        if not content:
            return None
        names = _references(content.get(JSON, {}).get("schema", {}))
        formats = tuple(kind for kind in content if kind != JSON)
        if not names:
            return Content("", tuple(content))
        results = self._schemas[names[0]].get("properties", {}).get("results")
        if names[0].startswith("Paginated") and results:
            return Content(_references(results)[0], formats, is_page=True)
        return Content(names[0], formats)

    def _request_example(self, request: Schema) -> str:
        media = request.get("content", {}).get(JSON, {})
        for example in media.get("examples", {}).values():
            return _json(example["value"])
        return next((self._example(name) for name in _references(media.get("schema", {}))), "")

    def _example(self, name: str) -> str:
        examples = self._schemas[name].get("examples", ())
        return _json(examples[0]) if examples else ""

    def _bodies(self, operations: list[Operation]) -> tuple[Body, ...]:
        """Return the bodies of these operations, and those that they hold in turn, each once."""
        contents = [content for operation in operations for content in (operation.request, operation.answer)]
        names = [content.body for content in contents if content and content.body]
        bodies: dict[str, Body] = {}
        while names:
            name = names.pop(0)
            if name not in bodies:
                bodies[name] = self._body(name)
                names += [inner for part in bodies[name].fields for inner in part.bodies]
        return tuple(bodies.values())

    def _body(self, name: str) -> Body:
        schema = self._schemas[name]
        required = schema.get("required", ())
        fields = (self._field(key, part, key in required) for key, part in schema.get("properties", {}).items())
        return Body(name, " ".join(schema.get("description", "").split()), tuple(fields), self._example(name))

    def _field(self, name: str, schema: Schema, is_required: bool, where: str = "") -> Field:
        values = tuple(str(value) for value in _values(schema) if value not in (None, ""))
        limits = [text.format(_limit(schema[key])) for key, text in _LIMITS if schema.get(key, LARGEST) != LARGEST]
        description = _LISTED_VALUES.sub("", schema.get("description", "")).strip() or _lookup_text(name)
        return Field(
            name, self._kind(schema), description, tuple(limits), values, tuple(_references(schema)), where, is_required
        )

    def _kind(self, schema: Schema) -> str:
        """Word the type: `integer`, `list of string`, `date-time or null`."""
        if schema.get("type") == "array":
            return f"list of {self._kind(schema.get('items', {}))}"
        if inner := next((schema[key] for key in ("allOf", "oneOf", "anyOf") if key in schema), None):
            return " or ".join(dict.fromkeys(self._kind(part) for part in inner))
        if "$ref" in schema:
            return "object"
        kinds = schema.get("type", "anything")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return " or ".join(schema.get("format", kind) if kind == "string" else kind for kind in kinds)

    def _resolved(self, part: Schema) -> Schema:
        if "$ref" not in part:
            return part
        _, _, kind, name = part["$ref"].split("/")
        resolved: Schema = self._description["components"][kind][name]
        return resolved


def _references(schema: Any) -> list[str]:
    """Return the names of the bodies that a schema leads to, without what lies within these."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            return [schema["$ref"].rpartition("/")[2]]
        return [name for key, part in schema.items() if key != "examples" for name in _references(part)]
    return [name for part in schema for name in _references(part)] if isinstance(schema, list) else []


def _values(schema: Schema) -> list[Any]:
    values: list[Any] = schema.get("enum") or schema.get("items", {}).get("enum") or []
    return values


def _limit(value: Any) -> str:
    return f"{value:,.9g}" if isinstance(value, int | float) else str(value)


def _lookup_text(name: str) -> str:
    """Say what a filter compares, by the ending of its name."""
    _, _, lookup = name.rpartition("__")
    return LOOKUPS.get(lookup, "") if "__" in name else ""


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
