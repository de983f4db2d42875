"""Constants that the resources of reports share."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes

DOCUMENT = {(200, "application/json"): OpenApiTypes.OBJECT}


BY = {"slug_field": "username", "read_only": True, "allow_null": True}
