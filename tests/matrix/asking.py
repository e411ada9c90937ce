"""A request for any operation: its path from a registry of makers, its body from the documented example."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from stead.control.app import ControlPlane
from stead.control.environments.rules import VisibleEnvironment
from stead.control.features import id_prefixes
from stead.control.http.examples import example
from stead.control.http.operations import BodyInput, Operation
from stead.control.jobs.rules import VisibleJob
from stead.control.keys.rules import VisibleKey
from stead.control.projects.rules import VisibleProject, VisibleTeamProject
from stead.control.sites.capabilities import CAPABILITIES
from stead.control.sites.rules import VisibleSite
from stead.shared.ids import has_shape, new_id
from tests.client import Client
from tests.contract.walk import required_query
from tests.feature_samples import merged
from tests.matrix.world import Caller, Flavour, Thing, World, other_than_production
from tests.people import PASSWORD
from tests.teams import DAY

ID_PREFIXES = id_prefixes()


@dataclass(frozen=True)
class Asking:
    operation: Operation
    world: World
    caller: Caller
    flavour: Flavour
    oneself: bool = False

    @property
    def own(self) -> Flavour:
        """Of the flavours that are the member's own, the one that is asked about."""
        return "test" if self.flavour == "test" else "personal"


def _project(asking: Asking) -> str:
    kind = VisibleTeamProject if asking.flavour == "team" else VisibleProject
    return asking.world.thing(kind, asking.flavour).id


def _member(asking: Asking) -> str:
    return asking.caller.account if asking.oneself and asking.caller.account else asking.world.victim.id


def _site(asking: Asking) -> Thing:
    if asking.operation.id == "sites.recover":
        return asking.world.deleted_sites[asking.flavour]
    return asking.world.thing(VisibleSite, asking.flavour)


def _job(asking: Asking) -> str:
    if asking.operation.id == "jobs.cancel":
        return asking.world.queued_jobs[asking.flavour].id
    return asking.world.thing(VisibleJob, asking.flavour).id


def _environment(asking: Asking) -> str:
    """Production, unless the operation is not for it."""
    other = other_than_production(asking.operation, asking.world, asking.flavour)
    if other is not None:
        return other.id
    return asking.world.thing(VisibleEnvironment, asking.flavour).id


IN_PATH: dict[str, Callable[[Asking], str]] = {
    "env_id": _environment,
    "team_id": lambda asking: asking.world.team,
    "client_id": _member,
    "invite_id": lambda asking: asking.world.invite,
    "project_id": _project,
    "site_id": lambda asking: _site(asking).id,
    "job_id": _job,
    "key_id": lambda asking: asking.world.thing(VisibleKey, asking.own).id,
    **merged("path_ids"),
}
"""Path parameters, by name."""

IN_BODY: dict[str, Callable[[Asking], Any]] = {
    "client_id": lambda asking: asking.world.newcomer.id,
    "site_id": lambda asking: asking.world.loose_sites[asking.flavour].id,
    "to_team_id": lambda asking: asking.world.other_team,
    "confirm_domain": lambda asking: f"{_site(asking).id.replace('_', '-')}.example.com",
    "NewSite.domain": lambda _: f"{new_id('site').replace('_', '-')}.example.com",
    "token": lambda asking: asking.world.token,
    "expires_at": lambda asking: (asking.world.database._clock() + 30 * DAY).isoformat(),
    "mode": lambda asking: asking.caller.mode,
    "NewAccount.email": lambda _: f"{new_id('client')}@example.com",
    "NewPasswordReset.email": lambda asking: asking.world.newcomer.email,
    "SignIn.email": lambda asking: asking.world.newcomer.email,
    "SignIn.password": lambda _: PASSWORD,
    **merged("body_values"),
}
"""Fields whose documented example cannot hold in a world of its own: by name, or by shape and name."""

RUNTIMES = merged("runtimes")
LEFT_OUT = {"AccountChange": {"new_email", "new_password", "current_password"}}
"""A password is asked for at most five times a minute, and a new one ends the caller's other sessions."""

_THROTTLES = [
    *("rate:sign-up:all", "rate:reset:all", "rate:device:all", "rate:device:near:127.0.0.0/24"),
    *(
        f"rate:{what}:from:127.0.0.1"
        for what in ("sign-up", "password", "reset", "verify", "device", "device:poll")
    ),
]


def path(asking: Asking) -> dict[str, str]:
    return {name: IN_PATH[name](asking) for name in asking.operation.path_parameters}


def body(asking: Asking) -> dict[str, Any] | None:
    wanted = asking.operation.input_of(BodyInput)
    if wanted is None:
        return None
    shape, shown = wanted.shape.__name__, example(wanted.shape)
    filled = {}
    for name, value in shown.items():
        if name in LEFT_OUT.get(shape, ()):
            continue
        make = IN_BODY.get(f"{shape}.{name}") or IN_BODY.get(name)
        filled[name] = make(asking) if make else value
        known = make is not None or not isinstance(value, str) or not _is_id(value)
        assert known, f"{shape}.{name} is an identifier: say in IN_BODY whose"
    return filled


def _is_id(value: str) -> bool:
    return any(has_shape(prefix, value) for prefix in ID_PREFIXES.values())


async def ask(plane: ControlPlane, client: Client, asking: Asking, **changed: Any) -> httpx.Response:
    """Make the call. `changed` replaces parts of the request."""
    operation = asking.operation
    if operation.requires.public:
        await plane.redis.execute("DEL", *_THROTTLES)
    headers = dict(changed.pop("headers", {}))
    if asking.caller.kind is not None:
        _, secret = await asking.world.credential(asking.caller)
        headers["authorization"] = f"Bearer {secret}"
    where = operation.path.format_map({**path(asking), **changed.pop("path", {})})
    where += required_query(operation)
    sent = changed.pop("body", body(asking))
    async with _supporting_sites(plane, operation, path(asking).get("site_id", "")):
        return await client.request(operation.method, where, json=sent, headers=headers)


@asynccontextmanager
async def _supporting_sites(plane: ControlPlane, operation: Operation, site: str) -> AsyncIterator[None]:
    """The sites of a world are static. For an operation that they do not support, the site changes."""
    capability, runtime = operation.capability, RUNTIMES.get(operation.id, "static")
    if capability is not None and not CAPABILITIES[runtime][capability].supported:
        runtime = next(each for each, found in CAPABILITIES.items() if found[capability].supported)
    if runtime == "static":
        yield
        return
    await _set_runtime(plane, site, runtime)
    yield
    await _set_runtime(plane, site, "static")


async def _set_runtime(plane: ControlPlane, site: str, runtime: str) -> None:
    async with plane.database.transaction() as tx:
        await tx.run("update sites set runtime = $2 where id = $1", site, runtime)
