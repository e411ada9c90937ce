"""Bodies are parsed strictly, and requests that create something can be repeated."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec import NODEFAULT

from stead.control.http.idempotency import MAX_KEY_LENGTH
from stead.control.http.operations import BodyInput, Operation
from stead.control.http.requests import MAX_BODY_BYTES
from stead.shared.ids import new_id
from tests.client import Client, description
from tests.contract.walk import (
    ask,
    assert_headers,
    assert_refused,
    body_for,
    body_input,
    documented_body,
    each,
    is_private,
    path_values,
    request_of,
    takes_body,
)
from tests.people import Person

IN_A_TEXT = re.compile(rb'(?<=[:\[]")|(?<=^\{")(?!.*[:\[]")')
"""Where the first text of a compact JSON body begins, or the name of its first field if it has no text."""

SPOIL: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda body: body[:-1],
    "not JSON": lambda _: b"name=Ada",
    "not UTF-8": lambda body: IN_A_TEXT.sub(b"\xff", body, count=1),
    "with half a character": lambda body: IN_A_TEXT.sub(rb"\\ud800", body, count=1),
    "with a NUL": lambda body: IN_A_TEXT.sub(rb"\\u0000", body, count=1),
    "twice": lambda body: body + body,
}


def client_of(operation: Operation, person: Person, visitor: Client) -> Client:
    return person.session if is_private(operation) else visitor


def counted(operation: Operation) -> Operation | None:
    return operation if is_private(operation) else None


def schema_of(operation: Operation) -> dict[str, Any]:
    entry = description()["paths"][operation.path][operation.method.lower()]
    return dict(entry["requestBody"]["content"]["application/json"]["schema"])


def another_body(operation: Operation, body: Any) -> Any:
    """A different body that is just as valid: without one of the fields that may be left out, or with another
    one of the possible values."""
    given = operation.input_of(BodyInput)
    if given is None:
        return {"another": "body"}
    if given.optional:
        return None
    for field in msgspec.structs.fields(given.type):
        may_be_left_out = field.default is not NODEFAULT or field.default_factory is not NODEFAULT
        if may_be_left_out and field.encode_name in body:
            return {name: value for name, value in body.items() if name != field.encode_name}
        choices = msgspec.inspect.type_info(field.type)
        if isinstance(choices, msgspec.inspect.Metadata):
            choices = choices.type
        name = field.encode_name
        if isinstance(choices, msgspec.inspect.LiteralType) and name in body:
            return body | {name: next(each for each in choices.values if each != body[name])}
    name, value = next((name, value) for name, value in body.items() if isinstance(value, str | int | list))
    if isinstance(value, list):
        return body | {name: [*value, value[-1]]}
    return body | {name: f"{value}x" if isinstance(value, str) else value + 1}


def objects_in(schema: Any, seen: set[str]) -> list[dict[str, Any]]:
    """Every object that a body of this schema may contain, however deep."""
    if isinstance(schema, list):
        return [found for item in schema for found in objects_in(item, seen)]
    if not isinstance(schema, dict):
        return []
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        target = description()["components"]["schemas"][reference.rpartition("/")[2]]
        return objects_in(target, {*seen, reference})
    inner = [found for value in schema.values() for found in objects_in(value, seen)]
    return [schema, *inner] if isinstance(schema.get("properties"), dict) else inner


@each(takes_body)
def test_the_documented_body_is_one_that_the_operation_takes(operation: Operation):
    body = documented_body(operation)
    msgspec.json.decode(msgspec.json.encode(body), type=body_input(operation).type)
    problems = Draft202012Validator(
        {**schema_of(operation), "components": description()["components"]}
    ).iter_errors(body)
    assert not [problem.message for problem in problems]


@each(takes_body)
async def test_a_field_that_does_not_exist_is_refused_by_name(
    operation: Operation, owner: Person, visitor: Client
):
    client, values = client_of(operation, owner, visitor), await path_values(operation, owner)
    body = (await body_for(operation, owner, values))["json"] | {"no_such_field": 1}
    refusal = await ask(client, operation, values, json=body)
    told = assert_refused(refusal, 400, "request.field_invalid", counted=counted(operation))
    assert told["param"] == "no_such_field"


@each(takes_body)
def test_no_object_inside_a_body_has_room_for_unknown_fields(operation: Operation):
    open_ones = [
        found.get("title", found)
        for found in objects_in(schema_of(operation), set())
        if found.get("additionalProperties") is not False
    ]
    assert not open_ones


@each(takes_body)
@pytest.mark.parametrize("how", SPOIL)
async def test_a_body_that_cannot_be_read_is_malformed(
    operation: Operation, how: str, owner: Person, visitor: Client
):
    client, values = client_of(operation, owner, visitor), await path_values(operation, owner)
    good = msgspec.json.encode((await body_for(operation, owner, values))["json"])
    spoiled = SPOIL[how](good)
    assert spoiled != good
    refusal = await ask(client, operation, values, content=spoiled)
    assert_refused(refusal, 400, "request.malformed", counted=counted(operation))


@each(takes_body)
@pytest.mark.parametrize("body", ["[]", "null", "1", '"text"', "true"])
async def test_a_body_that_is_no_object_is_refused(
    operation: Operation, body: str, owner: Person, visitor: Client
):
    if body == "null" and body_input(operation).optional:
        return
    client, values = client_of(operation, owner, visitor), await path_values(operation, owner)
    refusal = await ask(client, operation, values, content=body)
    assert_refused(refusal, 400, "request.field_invalid", counted=counted(operation))


@each(lambda operation: takes_body(operation) and not body_input(operation).optional)
async def test_a_body_that_is_needed_is_missed(operation: Operation, owner: Person, visitor: Client):
    client, values = client_of(operation, owner, visitor), await path_values(operation, owner)
    refusal = await ask(client, operation, values)
    assert_refused(refusal, 400, "request.malformed", counted=counted(operation))


@each(lambda operation: takes_body(operation) or operation.takes_idempotency_key)
async def test_a_body_over_the_limit_is_too_large(operation: Operation, owner: Person, visitor: Client):
    client, values = client_of(operation, owner, visitor), await path_values(operation, owner)
    refusal = await ask(client, operation, values, content=b" " * (MAX_BODY_BYTES + 1))
    assert_refused(refusal, 413, "request.too_large", counted=counted(operation))


@each(lambda operation: not takes_body(operation) and not operation.takes_idempotency_key)
async def test_a_body_that_nobody_asked_for_is_ignored_or_refused_as_documented(
    operation: Operation, person: Person
):
    values = await path_values(operation, person)
    answer = await ask(person.session, operation, values, content=b" " * (MAX_BODY_BYTES + 1))
    assert answer.status_code in (operation.status, 413), answer.text


@each(lambda operation: operation.takes_idempotency_key)
async def test_a_request_repeated_with_its_key_is_answered_as_the_first_time(
    operation: Operation, person: Person
):
    values, body = await request_of(operation, person)
    headers = {"idempotency-key": new_id("walk")}
    first = await ask(person.session, operation, values, headers=headers, **body)
    again = await ask(person.session, operation, values, headers=headers, **body)
    assert first.status_code == operation.status, first.text
    assert "idempotent-replayed" not in first.headers
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert_headers(again, counted=operation)


@each(lambda operation: operation.takes_idempotency_key)
async def test_a_key_used_for_one_request_is_refused_for_another(operation: Operation, person: Person):
    values, body = await request_of(operation, person)
    headers = {"idempotency-key": new_id("walk")}
    first = await ask(person.session, operation, values, headers=headers, **body)
    assert first.status_code == operation.status, first.text
    other = another_body(operation, body.get("json"))
    refusal = await ask(person.session, operation, values, headers=headers, json=other)
    assert_refused(refusal, 409, "idempotency.key_reused", counted=operation)


@each(lambda operation: operation.takes_idempotency_key)
@pytest.mark.parametrize("key", ["", "x" * (MAX_KEY_LENGTH + 1)], ids=["empty", "too long"])
async def test_a_key_of_the_wrong_length_is_refused(operation: Operation, key: str, owner: Person):
    values, body = await request_of(operation, owner)
    refusal = await ask(owner.session, operation, values, headers={"idempotency-key": key}, **body)
    told = assert_refused(refusal, 400, "request.field_invalid", counted=operation)
    assert told["param"] == "Idempotency-Key"


@each(lambda operation: operation.takes_idempotency_key)
async def test_a_key_of_one_account_says_nothing_to_another(
    operation: Operation, person: Person, stranger: Person
):
    headers = {"idempotency-key": new_id("walk")}
    for each_one in (person, stranger):
        values, body = await request_of(operation, each_one)
        answer = await ask(each_one.session, operation, values, headers=headers, **body)
        assert answer.status_code == operation.status, answer.text
        assert "idempotent-replayed" not in answer.headers
