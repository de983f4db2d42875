"""The description in docs/openapi.yaml is that of the code: `make openapi` writes it anew."""

from pathlib import Path

import pytest
import yaml
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.validation import validate_schema

KEPT = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"


@pytest.fixture(scope="module")
def schema():
    return SchemaGenerator().get_schema(request=None, public=True)


def test_the_description_in_the_tree_is_up_to_date(schema):
    made = yaml.safe_load(OpenApiYamlRenderer().render(schema, renderer_context={}))
    assert yaml.safe_load(KEPT.read_text()) == made, "Run `make openapi`, and look at what changed."


def test_it_is_openapi_3_1_and_valid(schema):
    assert schema["openapi"].startswith("3.1")
    validate_schema(schema)


def test_each_operation_says_its_problems_and_each_post_takes_an_idempotency_key(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert {"401", "403", "404"} <= operation["responses"].keys(), path
            taken = [one.get("$ref", "") for one in operation["parameters"]]
            assert (method == "post") == any("IdempotencyKey" in one for one in taken), path
