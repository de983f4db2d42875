"""The OpenAPI description: what is common to all operations is said here, once."""

from __future__ import annotations

import inspect
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema

from . import examples, problems
from .authentication import TokenAuthentication, scope_of

# What is read here may be impossible as things stand; files, also on this installation.
MADE_ON_DEMAND = ("/bundle/", "/files/{name}/", "/comparisons/document/", "/tuning-steps/", "/laboratory/")
WRITES = ("create", "partial_update", "revise")
# What an action does, where its method has no sentence of its own.
SUMMARIES = {
    "list": "List {plural}.",
    "retrieve": "Fetch one.",
    "create": "Add one.",
    "partial_update": "Change it.",
    "destroy": "Delete it, while nothing cites it.",
    "revise": "Make a new revision of it, which has an address of its own.",
    "retire": "Retire it: no form offers it any more, and results keep citing it.",
    "show_again": "Offer it again.",
    "pause": "Pause it.",
    "resume": "Let it go on.",
    "end": "End it for good.",
    "cancel": "Cancel it, or stop it where it is under way.",
}
PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "remedy", "instance"],
    "properties": {
        "type": {"type": "string", "description": "The kind of problem."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong this time."},
        "remedy": {"type": "string", "description": "What to do about it."},
        "instance": {"type": "string", "description": "The address that was asked."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {
                    "pointer": {"type": "string", "description": "JSON pointer to the field; ?name for a parameter."},
                    "detail": {"type": "string"},
                    "line": {"type": "integer", "description": "Of NDJSON, from 1 on."},
                },
            },
        },
    },
    "example": problems.body(
        422,
        "Nothing was stored, because of 1 fault.",
        "/api/v1/workloads/",
        [{"pointer": "/scale", "detail": "At least 1 for the scale."}],
    ),
}
IDEMPOTENCY = {
    "in": "header",
    "name": "Idempotency-Key",
    "schema": {"type": "string", "maxLength": 200},
    "description": "The same key with the same request is carried out once, and answered alike for a day.",
}
IF_MATCH = {
    "in": "header",
    "name": "If-Match",
    "schema": {"type": "string"},
    "description": "The ETag of what you fetched: nothing is changed if it is no longer so.",
}
IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string"},
    "description": "The ETag that you have: 304 if it is still so.",
}


class Described(AutoSchema):
    """Requests are those of the view's form; what they answer follows from the action."""

    def get_request_serializer(self) -> Any:
        action = getattr(self.view, "action", "")
        takes = getattr(self.view, "takes", None)
        if action in WRITES and takes is not None:
            return takes(partial=True) if action == "revise" else takes
        return super().get_request_serializer()

    def get_response_serializers(self) -> Any:
        serializers = super().get_response_serializers()
        action = getattr(self.view, "action", "")
        if action in ("create", "revise") and not isinstance(serializers, dict):
            return {201: serializers}
        return serializers

    def get_auth(self) -> list[dict[str, list[str]]]:
        """Name the scope beside the token: OpenAPI 3.1 has room for roles there."""
        scope = scope_of(self.view, self.method)
        return [{name: [scope] if name == Bearer.name else []} for names in super().get_auth() for name in names]

    def get_summary(self) -> str:
        if text := self._own_text():
            return text.partition("\n\n")[0].replace("\n", " ")
        return SUMMARIES.get(self.view.action, "").format(plural=self.get_tags()[0].replace("-", " "))

    def get_description(self) -> str:
        scope = scope_of(self.view, self.method)
        text = self._own_text() or inspect.cleandoc(type(self.view).__doc__ or "")
        return "\n\n".join(filter(None, (text, f"Takes the scope `{scope}`.")))

    def _own_text(self) -> str:
        """Return the sentences of the action itself; those of a view stand for all of its actions."""
        action = getattr(self.view, self.view.action, None)
        return inspect.cleandoc(getattr(action, "__doc__", None) or "")


class TimeOfDay(OpenApiSerializerFieldExtension):
    """Describes a time without its zone, which the format `time` of JSON Schema would demand."""

    target_class = "rest_framework.serializers.TimeField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, str]:
        return {"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]"}


class Bearer(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token made on the page of your account."}


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Give each operation its problems and the headers that it takes; drf-spectacular calls it at the end."""
    components = result["components"]
    components["schemas"]["Problem"] = PROBLEM
    components["parameters"] = {"IdempotencyKey": IDEMPOTENCY, "IfMatch": IF_MATCH, "IfNoneMatch": IF_NONE_MATCH}
    components["responses"] = {f"Problem{code}": _response(code) for code in problems.KINDS if code != 500}
    examples.illustrate(components["schemas"])
    for address, operations in result["paths"].items():
        for method, operation in operations.items():
            _complete(address, method, operation)
    return result


def _response(code: int) -> dict[str, Any]:
    _, title, remedy = problems.KINDS[code]
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": f"{title}. {remedy}", "content": content}


def _complete(address: str, method: str, operation: dict[str, Any]) -> None:
    codes = [400, 401, 403, 404, 406, 422]
    headers = []
    if method == "get":
        headers.append("IfNoneMatch")
        operation["responses"].setdefault("304", {"description": "It is still what you have."})
    else:
        codes += [409, 412, 413, 415]
        headers += ["IdempotencyKey"] if method == "post" else ["IfMatch"]
    if address.endswith(MADE_ON_DEMAND):
        codes += [409, 501] if "/files/" in address else [409]
    if address.endswith("/revise/"):
        headers.append("IfMatch")
    operation.setdefault("parameters", []).extend({"$ref": f"#/components/parameters/{header}"} for header in headers)
    for code in codes:
        operation["responses"].setdefault(str(code), {"$ref": f"#/components/responses/Problem{code}"})
