"""Helpers that tests of the API share."""

from __future__ import annotations

from functools import cache

from drf_spectacular.generators import SchemaGenerator


@cache
def described():
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return {
        (method, path.removeprefix("/api/v1/")): operation
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
    }
