"""The API describes itself: validly, completely, and without anything running."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import schemathesis
from jsonschema import Draft202012Validator

from stead.control.http.openapi import errors_of
from stead.control.http.operations import Operation
from stead.shared.versions import VERSIONS
from tests.client import Client, description, resolved
from tests.contract.walk import OPERATIONS, each, takes_body

Json = dict[str, Any]


def entry_of(operation: Operation) -> Json:
    """With what its parameters and responses refer to."""
    entry = description()["paths"][operation.path][operation.method.lower()]
    return {
        **entry,
        "parameters": [resolved(each) for each in entry["parameters"]],
        "responses": {status: resolved(each) for status, each in entry["responses"].items()},
    }


def problems(schema: Json, value: Any) -> list[str]:
    whole = {**schema, "components": description()["components"]}
    return [problem.message for problem in Draft202012Validator(whole).iter_errors(value)]


def contents(told: Json) -> Iterator[tuple[Json, Any]]:
    """The schema and every example of a response."""
    for content in told.get("content", {}).values():
        if "example" in content:
            yield content["schema"], content["example"]
        for shown in content.get("examples", {}).values():
            yield content["schema"], resolved(shown)["value"]


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def test_the_description_is_valid_openapi():
    assert description()["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(description()).validate()


def test_every_schema_of_the_description_is_valid_json_schema():
    for schema in description()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for path in description()["paths"].values():
        for entry in path.values():
            for parameter in map(resolved, entry["parameters"]):
                Draft202012Validator.check_schema(parameter["schema"])


def test_every_reference_of_the_description_leads_somewhere():
    for reference in set(references(description())):
        root, *steps = reference.split("/")
        part: Any = description()
        assert root == "#"
        for step in steps:
            assert step in part, reference
            part = part[step]


def test_every_operation_has_a_name_of_its_own():
    names = [entry["operationId"] for path in description()["paths"].values() for entry in path.values()]
    assert sorted(names) == sorted(operation.id for operation in OPERATIONS)
    assert len(set(names)) == len(names)


@each()
def test_an_operation_describes_what_it_asks_for(operation: Operation):
    entry = entry_of(operation)
    way = "any_of" if operation.requires.any_one else "all_of"
    assert entry["x-scopes"] == {way: list(operation.requires.scopes)}
    assert bool(entry["security"]) != operation.requires.public
    assert entry["x-rate-class"] == operation.rate
    assert entry["x-preview"] is operation.preview
    assert entry["x-error-codes"] == [error.code for error in errors_of(operation)]
    assert entry["summary"].endswith(".")
    assert entry["tags"] == [operation.tag]


@each()
def test_an_operation_tells_clients_how_to_call_it(operation: Operation):
    entry = entry_of(operation)
    assert (entry.get("x-pagination") == "cursor") == (operation.response_kind == "list")
    assert (entry["x-idempotent"] == "key") == operation.takes_idempotency_key
    assert ("x-job" in entry) == (operation.job is not None)
    assert ("x-stream" in entry) == (operation.response_kind == "stream" or operation.can_follow)
    assert entry["x-destructive"] in ("none", "reversible", "irreversible")
    assert set(entry["x-cli"]["arguments"]) <= set(operation.path_parameters)


def test_a_deletion_that_is_repeated_as_it_is_returns_nothing():
    """Clients take 404 for its success if the response to the first attempt was lost."""
    for operation in OPERATIONS:
        as_it_is = operation.method == "DELETE" and entry_of(operation)["x-idempotent"] == "natural"
        if as_it_is and not takes_body(operation):
            assert operation.response_kind == "none", operation.id


def test_a_read_is_never_destructive_and_a_deletion_always_is():
    for operation in OPERATIONS:
        if operation.method in ("GET", "DELETE"):
            assert (operation.destructive == "none") == (operation.method == "GET"), operation.id


def test_every_command_has_a_name_of_its_own():
    commands = [(cli["group"], cli["name"]) for each in OPERATIONS for cli in [entry_of(each)["x-cli"]]]
    assert len(set(commands)) == len(commands)


@each(lambda operation: operation.creates is not None)
def test_a_job_leads_to_what_it_creates(operation: Operation):
    told = entry_of(operation)["x-job"]
    [read] = (each for each in OPERATIONS if each.id == told["read_with"])
    assert read.path_parameters[-1] == told["names"]
    assert {*read.path_parameters} - {*told["results"]} <= {"site_id", "env_id"}, "`resource` has the others"


@each(lambda operation: operation.response_kind == "stream" or operation.can_follow)
def test_the_frames_of_a_stream_are_described(operation: Operation):
    told = entry_of(operation)["x-stream"]
    assert told["optional"] == operation.can_follow
    assert told["resume_with"] == (None if operation.can_follow else "Last-Event-ID")
    assert {*told["ends_with"]} < {*told["events"]}
    for frame in told["events"].values():
        Draft202012Validator.check_schema(frame["schema"])


def test_enums_have_a_type_and_stand_in_one_place():
    for name, schema in description()["components"]["schemas"].items():
        for part in [schema, *schema.get("properties", {}).values()]:
            if "enum" in part:
                assert part["type"] in ("string", "integer"), name
                assert part is schema or len(part["enum"]) == 1, name


def test_secrets_are_marked():
    shapes = description()["components"]["schemas"]
    for shape, field in (("MintedKey", "secret"), ("Session", "token"), ("NewAccount", "password")):
        assert shapes[shape]["properties"][field]["x-sensitive"] is True
    marked = re.compile(r"(secret|password|token|secret_key)$")
    for name, shape in shapes.items():
        for field, schema in shape.get("properties", {}).items():
            if marked.search(field) and schema.get("type") != "boolean":
                assert schema.get("x-sensitive"), f"{name}.{field}"


def test_what_operations_share_is_written_once():
    """Written out at every operation, the same description was three times as long."""
    written_out = json.dumps([entry_of(operation) for operation in OPERATIONS])
    assert len(json.dumps(description()["paths"])) < len(written_out) / 3


@each()
def test_an_operation_describes_its_parameters(operation: Operation):
    named = {(parameter["in"], parameter["name"]) for parameter in entry_of(operation)["parameters"]}
    assert {name for place, name in named if place == "path"} == set(re.findall(r"{(\w+)}", operation.path))
    assert ("header", "Api-Version") in named
    assert (("header", "Idempotency-Key") in named) == operation.takes_idempotency_key
    pin = next(each for each in entry_of(operation)["parameters"] if each["name"] == "Api-Version")
    assert pin["schema"]["enum"] == [version.isoformat() for version in VERSIONS]


@each()
def test_every_error_code_is_shown_under_its_status(operation: Operation):
    responses = entry_of(operation)["responses"]
    for error in errors_of(operation):
        examples = responses[str(error.status)]["content"]["application/json"]["examples"]
        shown = resolved(examples[error.code])["value"]
        assert (shown["error"]["type"], shown["error"]["code"]) == (error.type, error.code)


@each()
def test_every_documented_answer_fits_its_schema(operation: Operation):
    for status, told in entry_of(operation)["responses"].items():
        for schema, shown in contents(told):
            assert not problems(schema, shown), status


@each(lambda operation: operation.response_kind in ("object", "list"))
def test_the_documented_success_is_of_the_declared_shape(operation: Operation):
    told = entry_of(operation)["responses"][str(operation.status)]["content"]["application/json"]
    data = told["example"]["data"]
    for shown in data if operation.response_kind == "list" else [data]:
        msgspec.convert(shown, operation.shape)


@each(takes_body)
def test_the_documented_request_is_shown(operation: Operation):
    told = entry_of(operation)["requestBody"]["content"]["application/json"]
    assert not problems(told["schema"], told["example"])


@each()
def test_the_headers_of_every_answer_are_described(operation: Operation):
    wanted = {"Api-Version", "X-Api-Stability", "X-Request-Id"}
    if operation.rate is not None:
        wanted |= {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
    for status, told in entry_of(operation)["responses"].items():
        assert wanted <= told["headers"].keys(), status


async def test_the_api_serves_the_description_it_is_tested_against(anonymous: Client):
    served = (await anonymous.get("/v1/openapi.json")).json()
    assert served.pop("servers") == [{"url": "http://stead.test"}]
    assert served == {name: part for name, part in description().items() if name != "servers"}


async def test_the_description_is_served_compressed(anonymous: Client):
    whole = await anonymous.get("/v1/openapi.json", headers={"accept-encoding": "identity"})
    small = await anonymous.get("/v1/openapi.json", headers={"accept-encoding": "br, gzip"})
    assert "content-encoding" not in whole.headers
    assert small.headers["content-encoding"] == "gzip"
    assert small.json() == whole.json()
    assert int(small.headers["content-length"]) < len(whole.content) / 5
    assert small.headers["vary"] == whole.headers["vary"] == "accept-encoding"
    assert small.headers["etag"] != whole.headers["etag"]


@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_the_description_is_not_sent_again_unless_it_changes(anonymous: Client, coding: str):
    accept = {"accept-encoding": coding}
    first = await anonymous.get("/v1/openapi.json", headers=accept)
    assert first.headers["cache-control"] == "no-cache"
    again = await anonymous.get(
        "/v1/openapi.json", headers={**accept, "if-none-match": first.headers["etag"]}
    )
    assert again.status_code == 304
    other = await anonymous.get("/v1/openapi.json", headers={**accept, "if-none-match": '"other"'})
    assert other.status_code == 200


def test_the_description_is_printed_without_any_setting(tmp_path: Path):
    bare = {name: value for name, value in os.environ.items() if not name.startswith("STEAD_")}
    printed = subprocess.run(
        [sys.executable, "-m", "stead.steadctl", "openapi"],
        env=bare,
        cwd=tmp_path,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert json.loads(printed.stdout) == description()
