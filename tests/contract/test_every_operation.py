"""Every declared operation: who is refused, what they cannot see, and what the response says."""

from datetime import timedelta

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.http.operations import Operation, PathInput
from stead.shared import scopes
from stead.shared.clock import MovableClock
from stead.shared.versions import VERSIONS
from tests.client import Client, code_of
from tests.contract.conftest import SPOILED, Spoiled
from tests.contract.walk import (
    OPERATIONS,
    ask,
    assert_headers,
    assert_refused,
    body_for,
    each,
    is_private,
    looked_up,
    path_values,
    url_of,
)
from tests.people import Person

PATHS = sorted({operation.path for operation in OPERATIONS})
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")
A_VALUE = "00000000000000000000000000"


def everything_but(operation: Operation, *missing: str) -> list[str]:
    """Every grant that does not allow the missing scope; of alternatives, none is granted."""
    needed = set(operation.requires.scopes if operation.requires.any_one else missing)
    return sorted(scope for scope in scopes.CATALOG if not scopes.expand([scope]) & needed)


async def clients(operation: Operation, owner: Person) -> tuple[Client, Client]:
    """A caller with every scope, and a caller without the scope of this operation."""
    return owner.session, await owner.key(*everything_but(operation, *operation.requires.scopes[:1]))


def assert_not_there(response: httpx.Response, operation: Operation) -> str:
    """The message of the error. The URL is right; only the resource is missing."""
    code = code_of(response)
    assert code.endswith(".not_found"), response.text
    assert code != "route.not_found"
    return str(assert_refused(response, 404, code, counted=operation)["message"])


def placeless(operation: Operation) -> dict[str, str]:
    """Values that name nothing, for requests that are refused before a look-up."""
    return dict.fromkeys(operation.path_parameters, A_VALUE)


@each(is_private)
@pytest.mark.parametrize("how", SPOILED)
async def test_a_credential_that_is_not_good_is_refused(
    operation: Operation,
    how: str,
    spoiled: dict[str, Spoiled],
    anonymous: Client,
    owner: Person,
    clock: MovableClock,
):
    values = await path_values(operation, owner)
    sent = spoiled[how]
    if sent.expires:
        clock.move(timedelta(days=2))
    headers = {} if sent.header is None else {"authorization": sent.header}
    refusal = await ask(anonymous, operation, values, headers=headers)
    spent = "x-ratelimit-limit" in refusal.headers
    assert_refused(refusal, 401, sent.code, counted=operation if spent else None)
    assert refusal.headers["www-authenticate"] == "Bearer"


@each(is_private)
async def test_a_refused_credential_learns_nothing_about_what_exists(operation: Operation, anonymous: Client):
    assert_refused(await ask(anonymous, operation, placeless(operation)), 401, "auth.missing")


@each(lambda operation: not is_private(operation))
async def test_a_public_operation_answers_without_a_credential(
    operation: Operation, visitor: Client, person: Person
):
    answer = await ask(visitor, operation, {}, **await body_for(operation, person, {}))
    assert answer.status_code == operation.status, answer.text
    assert_headers(answer, counted=None)


@each(is_private)
async def test_a_session_succeeds_with_the_documented_request(operation: Operation, person: Person):
    values = await path_values(operation, person)
    answer = await ask(person.session, operation, values, **await body_for(operation, person, values))
    assert answer.status_code == operation.status, answer.text
    assert_headers(answer, counted=operation)
    if answer.status_code != 204 and operation.response_kind != "stream":
        assert answer.json()["request_id"] == answer.headers["x-request-id"]


@each(lambda operation: operation.requires.scopes)
async def test_a_key_without_the_scope_is_told_which_one_is_missing(operation: Operation, owner: Person):
    needed = operation.requires.scopes
    for missing in needed:
        granted = everything_but(operation, missing)
        lacking = [scope for scope in needed if scope not in scopes.expand(granted)]
        client = await owner.key(*granted)
        values = await path_values(operation, owner)
        refusal = await ask(client, operation, values, **await body_for(operation, owner, values))
        told = assert_refused(refusal, 403, "scope.insufficient", counted=operation)
        assert (" or ".join(lacking) if operation.requires.any_one else lacking[0]) in told["message"]


@each(lambda operation: operation.requires.scopes and operation.method == "GET")
async def test_a_key_with_only_the_scope_may_read(operation: Operation, owner: Person):
    needed = operation.requires.scopes
    for granted in [[scope] for scope in needed] if operation.requires.any_one else [needed]:
        client = await owner.key(*granted)
        answer = await ask(client, operation, await path_values(operation, owner))
        assert answer.status_code == operation.status, answer.text


@each()
def test_every_path_parameter_is_read(operation: Operation):
    read = {
        *looked_up(operation),
        *(given.name for given in operation.inputs if isinstance(given, PathInput)),
    }
    assert read == set(operation.path_parameters)


@each(looked_up)
async def test_what_belongs_to_somebody_else_is_not_there(
    operation: Operation, owner: Person, stranger: Person
):
    """For callers with every scope and with none: visibility is checked before scopes."""
    theirs, mine = await path_values(operation, stranger), await path_values(operation, owner)
    for name in looked_up(operation):
        never = f"{theirs[name].partition('_')[0]}_{A_VALUE}"
        for client in await clients(operation, owner):
            foreign = await ask(client, operation, {**mine, name: theirs[name]})
            absent = await ask(client, operation, {**mine, name: never})
            assert assert_not_there(foreign, operation) == assert_not_there(absent, operation)
    assert (await ask(stranger.session, operation, theirs)).status_code != 404


@each(looked_up)
async def test_an_identifier_of_the_wrong_shape_names_nothing(operation: Operation, owner: Person):
    mine = await path_values(operation, owner)
    for name in looked_up(operation):
        value = mine[name]
        prefix, _, rest = value.partition("_")
        shapes = ("nothing", rest, prefix, f"{prefix}_", f"x{value}", f"{value}0", value[:-1], value.upper())
        strange = (f"{prefix}_{'u' * 26}", f"{value}\0", f"{value}\n", f"{value}'--", f"{prefix}_{'é' * 26}")
        for wrong in (*shapes, *strange, f"other_{rest}", "x" * 4000):
            for client in await clients(operation, owner):
                assert_not_there(await ask(client, operation, {**mine, name: wrong}), operation)


@each()
@pytest.mark.parametrize("version", ["", "2020-01-01", "latest", "9999-12-31", "é"])
async def test_a_version_that_was_never_published_is_refused_before_anything_else(
    operation: Operation, version: str, anonymous: Client
):
    sent = {"api-version": version.encode("latin-1")}
    refusal = await ask(anonymous, operation, placeless(operation), headers=sent)
    assert_refused(refusal, 400, "version.unknown")


@each(lambda operation: operation.method == "GET")
@pytest.mark.parametrize("version", [version.isoformat() for version in VERSIONS])
async def test_a_published_version_is_answered_in_and_echoed(
    operation: Operation, version: str, owner: Person
):
    values = await path_values(operation, owner)
    answer = await ask(owner.session, operation, values, headers={"api-version": version})
    assert answer.status_code == operation.status, answer.text
    assert_headers(answer, counted=operation, version=version)


@each(is_private)
@pytest.mark.parametrize("version", [version.isoformat() for version in VERSIONS])
async def test_a_refusal_echoes_the_version_too(operation: Operation, version: str, anonymous: Client):
    refusal = await ask(anonymous, operation, placeless(operation), headers={"api-version": version})
    assert code_of(refusal) == "auth.missing"
    assert_headers(refusal, counted=None, version=version)


@pytest.mark.parametrize("path", PATHS)
async def test_a_method_that_an_address_does_not_take_is_refused_with_those_it_does(
    path: str, anonymous: Client
):
    taken = sorted(operation.method for operation in OPERATIONS if operation.path == path)
    address = next(url_of(each, placeless(each)) for each in OPERATIONS if each.path == path)
    for method in METHODS:
        if method not in taken:
            refusal = await anonymous.request(method, address)
            assert_refused(refusal, 405, "route.method_not_allowed")
            head = ["HEAD"] if "GET" in taken else []
            assert refusal.headers["allow"] == ", ".join(sorted([*taken, *head, "OPTIONS"]))


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/nothing", "/v1/nothing/here", "/v1//account", "/v1/ACCOUNT"]
)
async def test_an_address_with_nothing_at_it_is_told_so(path: str, anonymous: Client, owner: Person):
    reading = next(each for each in OPERATIONS if each.rate == "read")
    assert_refused(await anonymous.get(path), 404, "route.not_found")
    assert_refused(await owner.session.get(path), 404, "route.not_found", counted=reading)


@each()
async def test_a_slash_too_many_is_another_address(operation: Operation, anonymous: Client):
    address = f"{url_of(operation, placeless(operation)).partition('?')[0]}/"
    assert_refused(await anonymous.request(operation.method, address), 404, "route.not_found")


def test_the_walk_is_over_everything_that_is_served(plane: ControlPlane):
    assert list(plane._api._endpoints) == [operation.id for operation in OPERATIONS]
