"""Every field of every operation gets wrong values. What the caller reads is plain language."""

import re
from typing import Any

import httpx
import msgspec
import pytest
from msgspec import inspect

from stead.control.http.examples import example
from stead.control.http.operations import BodyInput, Operation, PageInput, QueryInput
from tests.client import Client
from tests.contract.walk import (
    OPERATIONS,
    ask,
    body_for,
    body_input,
    each,
    is_private,
    path_values,
    required_filters,
    takes_body,
)
from tests.contract.wrong_values import LEAKS, field_paths, spoil
from tests.people import Person

SENTENCE = re.compile(r"[A-Z\"`0-9-].*[.?]", re.DOTALL)
TOLD: list[int] = []
"""How many refusals the walk has read."""


def filters_of(operation: Operation) -> QueryInput | None:
    return operation.input_of(QueryInput)


def assert_plain(refusal: httpx.Response, sent: str, value: Any) -> None:
    """A refusal of the request itself. Its message repeats the value at most in quotation marks."""
    error = refusal.json()["error"]
    message = error["message"]
    without_quoted = re.sub(r'"[^"]*"', '""', message)
    if isinstance(value, str) and value:
        without_quoted = without_quoted.replace(value, "")
    assert not LEAKS.search(without_quoted), (sent, value, message)
    assert SENTENCE.fullmatch(message), (sent, value, message)
    assert len(message) < 600, (sent, value, message)
    if error["code"] == "request.field_invalid":
        assert "not accepted" not in message, (sent, value, message)
    TOLD.append(1)


@each(takes_body)
async def test_a_wrong_value_in_any_field_is_explained(operation: Operation, person: Person, visitor: Client):
    client = person.session if is_private(operation) else visitor
    values = await path_values(operation, person)
    body, before = (await body_for(operation, person, values))["json"], len(TOLD)
    shape = body_input(operation).shape
    for wrong in spoil(body, shape):
        answer = await ask(client, operation, values, json=wrong.body)
        assert answer.status_code < 500, (wrong.path, wrong.value, answer.text)
        if answer.status_code in (400, 422):
            assert_plain(answer, wrong.path, wrong.value)
    refused = len(TOLD) - before
    assert refused >= len(field_paths(shape)), operation.id


@each(filters_of)
async def test_a_wrong_value_in_any_filter_is_explained(operation: Operation, owner: Person):
    values, filters = await path_values(operation, owner), filters_of(operation)
    assert filters is not None
    paging = ["limit", "cursor"] if operation.input_of(PageInput) else []
    for name in [path[0] for path in field_paths(filters.type)] + paging:
        for value in (
            "",
            "wat",
            "-1",
            "1.5",
            "9" * 40,
            "2026-13-01",
            "ä",
            "(?i)^[a-z]{3,}$",
            "2026-01-01T00:00:00",
        ):
            sent = required_filters(operation) | {name: value}
            answer = await ask(owner.session, operation, values, params=sent)
            assert answer.status_code in (operation.status, 400), (name, value, answer.text)
            if answer.status_code == 400:
                assert_plain(answer, name, value)
                assert answer.json()["error"].get("param", name) == name


def test_the_walk_counts_the_refusals_that_it_has_read():
    """Of the tests before it: all operations, or those that a run selects."""
    print(f"\nfield errors read: {len(TOLD)}")  # noqa: T201


def test_every_pattern_has_words():
    missing = []
    for operation in OPERATIONS:
        for found in (operation.input_of(BodyInput), operation.input_of(QueryInput)):
            if found is not None:
                missing += [f"{operation.id} {path}" for path in patterns_without_words(found.type)]
    assert not missing


def patterns_without_words(shape: Any) -> list[str]:
    found: list[str] = []

    def visit(kind: inspect.Type, path: str, extra: dict[str, Any], inside: tuple[type, ...]) -> None:
        match kind:
            case inspect.Metadata(type=inner):
                visit(inner, path, {**extra, **(kind.extra or {})}, inside)
            case inspect.StructType(cls=cls, fields=fields) if cls not in inside:
                for field in fields:
                    visit(field.type, f"{path}.{field.encode_name}", {}, (*inside, cls))
            case inspect.UnionType(types=types):
                for each_one in types:
                    visit(each_one, path, extra, inside)
            case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner):
                visit(inner, f"{path}.*", {}, inside)
            case inspect.StrType(pattern=str()) if not extra.get("expected"):
                found.append(path)

    visit(inspect.type_info(shape), "", {}, ())
    return found


@pytest.mark.parametrize(
    "sent_as", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
async def test_a_form_is_told_that_json_is_expected(sent_as: str, visitor: Client):
    headers = {"content-type": sent_as} if sent_as else {}
    answer = await visitor.post(
        "/v1/sessions", content=b"email=ada%40example.com&password=x", headers=headers
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "request.malformed")
    assert "form" in error["message"]
    assert "application/json" in error["message"]


async def test_json_is_accepted_whatever_the_content_type_says(owner: Person):
    """`curl -d` says that everything is a form."""
    headers = {"content-type": "application/x-www-form-urlencoded"}
    body = msgspec.json.encode({"name": "From curl"})
    assert (await owner.session.post("/v1/teams", content=body, headers=headers)).status_code == 201


async def test_an_allowed_value_is_named_as_the_issue_asks(owner: Person):
    answer = await owner.session.post("/v1/sites", json={"domain": "a.example.com", "profile": "wat"})
    error = answer.json()["error"]
    assert error["message"] == '"wat" is not a profile. Use one of: git_managed, vanilla, static, wasm.'
    assert error["param"] == "profile"


async def test_a_secret_is_not_repeated(visitor: Client):
    operation = next(each_one for each_one in OPERATIONS if each_one.id == "accounts.sign_up")
    body = example(body_input(operation).type) | {"password": "hunter2"}
    answer = await visitor.post("/v1/accounts", json=body)
    assert answer.status_code == 400
    assert "hunter2" not in answer.text
