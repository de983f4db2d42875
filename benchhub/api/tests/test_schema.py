"""The description in docs/openapi.yaml is that of the code: `make openapi` writes it anew."""

import json
from pathlib import Path

import pytest
import yaml
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator

from benchhub.api.core import examples

KEPT = Path(__file__).resolve().parents[3] / "docs" / "openapi.yaml"


@pytest.fixture(scope="module")
def schema():
    return SchemaGenerator().get_schema(request=None, public=True)


def test_the_description_in_the_tree_is_up_to_date(schema):
    generated = json.loads(OpenApiJsonRenderer().render(schema))
    assert yaml.load(KEPT.read_text(), yaml.CSafeLoader) == generated, "Run `make openapi`, and look at what changed."


def test_it_is_openapi_3_1_and_valid(schema):
    assert schema["openapi"].startswith("3.1")
    validate_schema(schema)


def test_each_operation_says_its_problems_and_each_post_takes_an_idempotency_key(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert {"401", "403", "404"} <= operation["responses"].keys(), path
            references = [parameter.get("$ref", "") for parameter in operation["parameters"]]
            assert (method == "post") == any("IdempotencyKey" in parameter for parameter in references), path


def referred(content):
    """The component that a JSON body is of; None where it is described in place."""
    place = content.get("application/json", {}).get("schema", {})
    return place.get("$ref", "").rpartition("/")[2] or None


def test_every_request_has_an_example(schema):
    without = [
        (method, path)
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
        if (content := operation.get("requestBody", {}).get("content"))
        and not any("examples" in media for media in content.values())
        and not schema["components"]["schemas"][referred(content)].get("examples")
    ]
    assert without == []


def test_every_example_is_of_a_component_and_as_that_says(schema):
    components = schema["components"]["schemas"]
    all_examples = {**examples.REQUESTS, **examples.CHANGES, **examples.ANSWERS}
    assert [name for name in all_examples if name not in components] == []
    for name, example in all_examples.items():
        reference = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": components}}
        faults = [
            f"{fault.json_path}: {fault.message}" for fault in Draft202012Validator(reference).iter_errors(example)
        ]
        assert faults == [], name
        allowed = components[name]["properties"].keys()
        assert [field for field in example if field not in allowed] == [], name


@pytest.mark.parametrize("path", ["comparisons/", "tuning-steps/", "laboratory/", "leaderboard/", "account/", "queue/"])
def test_what_answers_one_thing_is_not_described_as_a_list(schema, path):
    answer = schema["paths"][f"/api/v1/{path}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert "$ref" in answer and "type" not in answer


def test_a_field_of_several_kinds_of_workloads_says_which_values_are_whose(schema):
    script = schema["components"]["schemas"]["WorkloadRequest"]["properties"]["script"]
    assert script["enum"] == ["select-only", "simple-update", "tpcb-like", "oltp_read_write", "oltp_point_select"]
    assert "Of pgbench: select-only, simple-update, tpcb-like. " in script["description"]
    assert "Of sysbench: oltp_read_write, oltp_point_select. " in script["description"]
    described = schema["components"]["schemas"]["WorkloadRequest"]["properties"]
    assert described["scale"]["description"].startswith("Of pgbench and scripts: 100,000 accounts each")
    assert described["seed"]["description"].startswith("Of tatp: ")
    assert described["variables"]["description"] == "Of scripts: Each name with its value: pgbench's option -D."
