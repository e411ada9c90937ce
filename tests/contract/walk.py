"""How to reach any operation: real identifiers for its path, a body it takes, what every answer shows."""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from stead.control.features import all_operations, resolvers
from stead.control.http.examples import example
from stead.control.http.operations import BodyInput, Operation, ResourceInput
from stead.shared.ids import new_id
from stead.shared.roles import Role
from stead.shared.versions import LATEST
from tests.client import Client
from tests.people import PASSWORD, Person
from tests.teams import (
    environment_of,
    insert_account,
    insert_artifact,
    insert_build,
    insert_delivery,
    insert_deployment,
    insert_endpoint,
    insert_environment,
    insert_event,
    insert_invite,
    insert_job,
    insert_member,
    insert_project,
    insert_site,
    insert_team,
)

OPERATIONS = all_operations()
RESOLVERS = resolvers()

Values = Mapping[str, str]
Maker = Callable[[Person, Values], Awaitable[str]]


async def _key(person: Person, _made: Values) -> str:
    minted = await person.session.post("/v1/api-keys", json={"scopes": ["*"]})
    return str(minted.json()["data"]["id"])


async def _team(person: Person, _made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_team(tx, person.id)


async def _member(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        account = await insert_account(tx)
        await insert_member(tx, made["team_id"], account.id, Role.OBSERVER)
    return account.id


async def _invite(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        invite, _ = await insert_invite(tx, made["team_id"], person.id)
    return invite


def _owner(person: Person, made: Values) -> dict[str, str]:
    return {"team": made["team_id"]} if "team_id" in made else {"account": person.id}


async def _project(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_project(tx, **_owner(person, made))


async def _site(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_site(tx, project=made.get("project_id"), **_owner(person, made))


async def _ended_job(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_job(tx, await insert_site(tx, account=person.id), person.id, status="succeeded")


async def _queued_job(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_job(tx, await insert_site(tx, account=person.id), person.id)


async def _deleted_site(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_site(tx, account=person.id, status="deleted")


async def _environment(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await environment_of(tx, made["site_id"])


async def _suspended(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_environment(tx, made["site_id"], status="suspended")


async def _endpoint(person: Person, _made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_endpoint(tx, person.id)


async def _delivery(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        event = await insert_event(tx, account=person.id)
        return await insert_delivery(tx, made["endpoint_id"], event)


async def _build(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_build(tx, made["site_id"], made["env_id"])


async def _deployment(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        artifact = await insert_artifact(tx, made["site_id"])
        return await insert_deployment(tx, made["site_id"], made["env_id"], artifact)


async def _staging(person: Person, made: Values) -> str:
    """With something to show."""
    async with person.transaction() as tx:
        env = await insert_environment(tx, made["site_id"])
        await insert_deployment(tx, made["site_id"], env, await insert_artifact(tx, made["site_id"]))
    return env


MAKERS: dict[str, Maker] = {
    "build_id": _build,
    "deployment_id": _deployment,
    "env_id": _environment,
    "endpoint_id": _endpoint,
    "delivery_id": _delivery,
    "job_id": _ended_job,
    "key_id": _key,
    "team_id": _team,
    "client_id": _member,
    "invite_id": _invite,
    "project_id": _project,
    "site_id": _site,
}
"""Makes what a path parameter names, for a person. It is given the values to the left of its own."""


PARTICULAR: dict[str, dict[str, Maker]] = {
    "jobs.cancel": {"job_id": _queued_job},
    "sites.recover": {"site_id": _deleted_site},
    "deployments.promote": {"env_id": _staging},
    **{f"environments.{verb}": {"env_id": _staging} for verb in ("destroy", "suspend")},
    **{f"environments.{verb}": {"env_id": _staging} for verb in ("refresh", "reset", "push")},
    "environments.resume": {"env_id": _suspended},
}
"""Operations that need what they are about in a particular state."""


async def _new_address(_person: Person, _made: Values) -> dict[str, Any]:
    return {"email": new_email()}


async def _own_password(person: Person, _made: Values) -> dict[str, Any]:
    return {"email": person.account.email, "password": PASSWORD}


async def _new_account_facts(_person: Person, _made: Values) -> dict[str, Any]:
    return {"new_email": new_email(), "current_password": PASSWORD}


async def _another_account(person: Person, _made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"client_id": (await insert_account(tx)).id}


async def _new_domain(_person: Person, _made: Values) -> dict[str, Any]:
    return {"domain": f"{new_id('walk').replace('_', '-')}.example.com"}


async def _its_domain(person: Person, made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"confirm_domain": await tx.value("select domain from sites where id = $1", made["site_id"])}


async def _own_team(person: Person, _made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"to_team_id": await insert_team(tx, person.id)}


async def _own_site(person: Person, made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"site_id": await insert_site(tx, **_owner(person, made))}


async def _invitation(person: Person, _made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        host = await insert_account(tx)
        team = await insert_team(tx, host.id)
        _, token = await insert_invite(tx, team, host.id)
    return {"token": token}


async def _own_artifact(person: Person, made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"artifact_id": await insert_artifact(tx, made["site_id"])}


async def _files(_: Person, __: Values) -> dict[str, Any]:
    return {"mode": "files"}


BODIES: dict[str, Callable[[Person, Values], Awaitable[dict[str, Any]]]] = {
    "accounts.sign_up": _new_address,
    "sessions.create": _own_password,
    "account.update": _new_account_facts,
    "members.add": _another_account,
    "sites.create": _new_domain,
    "sites.delete": _its_domain,
    "deployments.create": _own_artifact,
    "environments.push": _files,
    "sites.transfer": _own_team,
    "projects.assign_site": _own_site,
    "team_projects.assign_site": _own_site,
    "invites.accept": _invitation,
}
"""What must differ from the documented example for the operation to succeed for a fresh person."""


def each(wanted: Callable[[Operation], object] = lambda _: True) -> pytest.MarkDecorator:
    """One test for every declared operation, or for every one that is like this."""
    chosen = [operation for operation in OPERATIONS if wanted(operation)]
    return pytest.mark.parametrize("operation", chosen, ids=[operation.id for operation in chosen])


def is_private(operation: Operation) -> bool:
    return not operation.requires.public


def takes_body(operation: Operation) -> bool:
    return operation.input(BodyInput) is not None


def looked_up(operation: Operation) -> list[str]:
    """The path parameters that name a resource: a resolver decides whether the caller may see it."""
    wanted = [given.type for given in operation.inputs if isinstance(given, ResourceInput)]
    names: set[str] = set()
    while wanted:
        resolver = RESOLVERS[wanted.pop()]
        names.update(resolver.path_parameters)
        wanted += resolver.needs
    return [name for name in operation.path_parameters if name in names]


async def path_values(operation: Operation, person: Person) -> dict[str, str]:
    """A value for every path parameter, naming something that this person has."""
    made: dict[str, str] = {}
    for name in operation.path_parameters:
        if name not in MAKERS:
            pytest.fail(
                f"{operation.id}: nothing makes a {{{name}}}. Add `async def make(person, made) -> str` under"
                f" {name!r} to MAKERS in tests/contract/walk.py: it makes one that the person owns."
            )
        make = PARTICULAR.get(operation.id, {}).get(name, MAKERS[name])
        made[name] = await make(person, made)
    return made


def url_of(operation: Operation, values: Values) -> str:
    return operation.path.format_map({name: quote(value, safe="") for name, value in values.items()})


def documented_body(operation: Operation) -> Any:
    return example(operation.input(BodyInput).type)


async def body_for(operation: Operation, person: Person, values: Values) -> dict[str, Any]:
    """Options of a request: the documented example as its body, made true of this person."""
    if not takes_body(operation):
        return {}
    body, changed = documented_body(operation), BODIES.get(operation.id)
    return {"json": body | await changed(person, values) if changed else body}


async def request_of(operation: Operation, person: Person) -> tuple[dict[str, str], dict[str, Any]]:
    """Path values and options with which the operation succeeds for this person."""
    values = await path_values(operation, person)
    return values, await body_for(operation, person, values)


def new_email() -> str:
    return f"{new_id('walk')}@example.com"


async def ask(client: Client, operation: Operation, values: Values, **options: Any) -> httpx.Response:
    return await client.request(operation.method, url_of(operation, values), **options)


def assert_refused(
    response: httpx.Response, status: int, code: str, *, counted: Operation | None = None
) -> dict[str, Any]:
    """The refusal's body. `counted` is the operation that spent from its caller's buckets."""
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
        streams = counted is not None and counted.answer == "stream" and response.is_success
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
