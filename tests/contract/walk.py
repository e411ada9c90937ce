"""Requests for any operation: existing identifiers for its path, a valid body, and checks of the response."""

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from msgspec import structs

from stead.control.features import all_operations, resolvers
from stead.control.http.examples import example
from stead.control.http.operations import BodyInput, Operation, QueryInput, ResourceInput
from stead.shared.versions import LATEST
from tests.client import Client
from tests.feature_samples import Values, merged
from tests.people import Person
from tests.selection.feature import leave_to_feature

OPERATIONS = all_operations()
RESOLVERS = resolvers()


PATH_MAKERS = merged("path_makers")
PATH_MAKERS_OF = merged("path_makers_of")
BODY_MAKERS = merged("body_makers")


def each(wanted: Callable[[Operation], object] = lambda _: True) -> pytest.MarkDecorator:
    """One test for every declared operation that is wanted."""
    chosen = leave_to_feature([operation for operation in OPERATIONS if wanted(operation)])
    return pytest.mark.parametrize("operation", chosen, ids=[operation.id for operation in chosen])


def is_private(operation: Operation) -> bool:
    return not operation.requires.public


def takes_body(operation: Operation) -> bool:
    return operation.input_of(BodyInput) is not None


def looked_up(operation: Operation) -> list[str]:
    """The path parameters that name a resource: a resolver decides whether the caller may see it."""
    wanted = [given.type for given in operation.inputs if isinstance(given, ResourceInput)]
    names: set[str] = set()
    while wanted:
        resolver = RESOLVERS[wanted.pop()]
        names.update(resolver.path_parameters)
        wanted += resolver.depends_on
    return [name for name in operation.path_parameters if name in names]


async def path_values(operation: Operation, person: Person) -> dict[str, str]:
    """A value for every path parameter, each naming a resource of this person."""
    made: dict[str, str] = {}
    for name in operation.path_parameters:
        if name not in PATH_MAKERS:
            pytest.fail(
                f"{operation.id}: nothing creates a {{{name}}}. Add `async def make(person, made) -> str` as"
                f" {name!r} to `path_makers` in the feature's samples.py (see tests/feature_samples.py)."
            )
        make = PATH_MAKERS_OF.get(operation.id, {}).get(name, PATH_MAKERS[name])
        made[name] = await make(person, made)
    return made


def url_of(operation: Operation, values: Values) -> str:
    path = operation.path.format_map({name: quote(value, safe="") for name, value in values.items()})
    return path + required_query(operation)


def required_filters(operation: Operation) -> dict[str, Any]:
    """The query parameters without which the operation refuses a request, with their examples."""
    query = operation.input_of(QueryInput)
    fields = () if query is None else structs.fields(query.type)
    return {field.encode_name: example(field.type) for field in fields if field.required}


def required_query(operation: Operation) -> str:
    filters = required_filters(operation)
    return "?" + urlencode(filters) if filters else ""


def body_input(operation: Operation) -> BodyInput:
    """The body of an operation that takes one."""
    found = operation.input_of(BodyInput)
    assert found is not None, operation.id
    return found


def documented_body(operation: Operation) -> Any:
    return example(body_input(operation).type)


async def body_for(operation: Operation, person: Person, values: Values) -> dict[str, Any]:
    """Options of a request: the documented example as its body, with identifiers of this person."""
    if not takes_body(operation):
        return {}
    body, changed = documented_body(operation), BODY_MAKERS.get(operation.id)
    return {"json": body | await changed(person, values) if changed else body}


async def request_of(operation: Operation, person: Person) -> tuple[dict[str, str], dict[str, Any]]:
    """Path values and options with which the operation succeeds for this person."""
    values = await path_values(operation, person)
    return values, await body_for(operation, person, values)


async def ask(client: Client, operation: Operation, values: Values, **options: Any) -> httpx.Response:
    return await client.request(operation.method, url_of(operation, values), **options)


def assert_refused(
    response: httpx.Response, status: int, code: str, *, counted: Operation | None = None
) -> dict[str, Any]:
    """Return the error. `counted` is the operation that used the rate limits of its caller."""
    body = response.json()
    assert (response.status_code, body["error"]["code"]) == (status, code), response.text
    assert body["request_id"] == response.headers["x-request-id"]
    assert_headers(response, counted=counted)
    return dict(body["error"])


def assert_headers(
    response: httpx.Response, *, counted: Operation | None, version: str = LATEST.isoformat()
) -> None:
    headers = response.headers
    assert headers["api-version"] == version
    assert headers["x-api-stability"] == "preview"
    assert headers["x-request-id"].startswith("req_")
    if response.status_code not in (204, 304):
        streams = counted is not None and counted.response_kind == "stream" and response.is_success
        assert headers["content-type"] == ("text/event-stream" if streams else "application/json")
    if counted is None or counted.requires.public:
        assert not [name for name in headers if "ratelimit" in name]
        return
    rate = counted.rate or "read"
    limit, remaining, reset = (
        int(headers[f"x-ratelimit-{name}"]) for name in ("limit", "remaining", "reset")
    )
    assert 0 <= remaining <= limit
    assert counted.rate is None or remaining < limit
    assert abs(reset - time.time()) < 61
    assert re.fullmatch(rf'"{rate}";q={limit};w=60, "team";q=\d+;w=60', headers["ratelimit-policy"])
    assert re.fullmatch(rf'"{rate}";r={remaining};t=\d+, "team";r=\d+;t=\d+', headers["ratelimit"])
