"""One team with everybody and everything in it, and everybody who could call."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from stead.control.engines.postgres import Database, Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.operations import Operation
from stead.control.http.principal import CredentialKind, Mode, Pin
from stead.control.jobs.rules import VisibleJob
from stead.control.keys.rules import VisibleKey
from stead.control.projects.rules import VisibleProject, VisibleTeamProject
from stead.control.sites.rules import VisibleSite
from stead.control.teams.rules import VisibleTeam
from stead.shared.ids import new_id
from stead.shared.roles import Role
from tests import teams
from tests.batched import batched
from tests.feature_samples import all_samples
from tests.matrix.permission_tables import FULL_GRANT, SCOPES, allowed_by, everything_without, row_of
from tests.teams import Account

Flavour = Literal["team", "personal", "test"]
"""Whose things a request is about: the team's, the member's own, or the member's own in test mode."""


@dataclass(frozen=True)
class Thing:
    """A resource as the rules of visibility see it."""

    kind: type
    id: str
    account: str | None = None
    team: str | None = None
    project: str | None = None
    mode: Mode = "live"
    pin: Pin | None = None
    site: str | None = None
    """Of a job or an environment: the site it is about."""


@dataclass(frozen=True)
class Caller:
    name: str
    account: str | None
    kind: CredentialKind | None
    grants: tuple[str, ...] = ()
    mode: Mode = "live"
    pin: Pin | None = None

    @cached_property
    def allowed(self) -> frozenset[str]:
        return SCOPES if self.kind == "session" else allowed_by(self.grants)

    @property
    def modes(self) -> tuple[Mode, ...]:
        return ("live", "test") if self.kind == "session" else (self.mode,)


@dataclass
class World:
    """`subject` has the role under test; `expired` had it; `stranger` has a team of their own."""

    database: Database
    role: Role
    founder: Account
    subject: Account
    expired: Account
    stranger: Account
    victim: Account
    newcomer: Account
    team: str
    other_team: str
    invite: str
    token: str
    """Of an invite into `entry_team`, for whoever has it."""
    entry_team: str
    things: dict[tuple[type, Flavour], Thing]
    loose_sites: dict[Flavour, Thing]
    deleted_sites: dict[Flavour, Thing]
    queued_jobs: dict[Flavour, Thing]
    roles: dict[tuple[str, str], Role]
    staging: dict[Flavour, Thing]
    """Of the same sites, with something to show."""
    suspended: dict[Flavour, Thing]
    artifacts: dict[Flavour, str]
    _secrets: dict[Caller, tuple[str, str]] = field(default_factory=dict)

    def thing(self, kind: type, flavour: Flavour) -> Thing:
        return self.things[kind, flavour]

    def add(self, flavour: Flavour, thing: Thing) -> None:
        self.things[thing.kind, flavour] = thing

    def environments(self) -> list[tuple[Flavour, Thing]]:
        """The production environment of the site of each flavour."""
        return [
            (flavour, thing) for (kind, flavour), thing in self.things.items() if kind is VisibleEnvironment
        ]

    def role_in(self, caller: Caller, thing: Thing) -> Role | None:
        if thing.account is not None:
            return Role.OWNER if thing.account == caller.account else None
        return self.roles.get((caller.account or "", thing.team or ""))

    async def credential(self, caller: Caller) -> tuple[str, str]:
        """The id (of a key; nothing for a session) and the secret that the caller presents."""
        if caller not in self._secrets:
            assert caller.account
            async with self.database.transaction() as tx:
                if caller.kind == "session":
                    made = "", await teams.insert_session(tx, caller.account)
                else:
                    made = await teams.insert_key(
                        tx, caller.account, caller.grants, mode=caller.mode, pin=caller.pin
                    )
            self._secrets[caller] = made
        return self._secrets[caller]

    def callers(self, operation: Operation) -> Iterator[Caller]:
        """Everybody: the member in every guise, then those who are none, then nobody."""
        me, everything = self.subject.id, FULL_GRANT
        yield Caller("session", me, "session")
        yield Caller("full key", me, "api_key", everything)
        for lacking in _narrowings(operation):
            grants = everything_without(lacking)
            yield Caller(f"key without {'/'.join(sorted(lacking))}", me, "api_key", grants)
        yield Caller("test key", me, "api_key", everything, mode="test")
        for name, pin in self._pins():
            yield Caller(f"key pinned to {name}", me, "api_key", everything, pin=pin)
        for name, account in (("stranger", self.stranger), ("expired member", self.expired)):
            yield Caller(f"{name}'s session", account.id, "session")
            yield Caller(f"{name}'s full key", account.id, "api_key", everything)
        yield Caller("nobody", None, None)

    def _pins(self) -> Iterator[tuple[str, Pin]]:
        yield "the team", Pin("team", self.team)
        yield "another team", Pin("team", self.other_team)
        yield "the team's project", Pin("project", self.thing(VisibleTeamProject, "team").id)
        yield "the team's site", Pin("site", self.thing(VisibleSite, "team").id)
        yield "an own project", Pin("project", self.thing(VisibleProject, "personal").id)
        yield "an own site", Pin("site", self.thing(VisibleSite, "personal").id)
        yield "an environment", Pin("environment", self.thing(VisibleEnvironment, "personal").id)


_STAGING = {
    "deployments.promote",
    *(f"environments.{verb}" for verb in ("destroy", "suspend", "refresh", "reset", "push")),
}


def other_than_production(operation: Operation, world: World, flavour: Flavour) -> Thing | None:
    """The environment of an operation that is not for production."""
    if operation.id == "environments.resume":
        return world.suspended[flavour]
    return world.staging[flavour] if operation.id in _STAGING else None


def _narrowings(operation: Operation) -> list[frozenset[str]]:
    """What a key may lack so that the requirement is not met: any one of several, or all of a choice."""
    row = row_of(operation)
    if not row.scopes:
        return []
    return [frozenset(row.scopes)] if row.any_one else [frozenset({each}) for each in row.scopes]


async def make_world(database: Database, role: Role) -> World:
    (world,) = await make_worlds(database, role, 1)
    return world


async def make_worlds(database: Database, role: Role, count: int) -> list[World]:
    """Several cost little more than one: the rows of all are inserted together."""
    async with database.transaction() as transaction, batched(transaction) as tx:
        worlds = [await _make_people(database, tx, role) for _ in range(count)]
        for samples in all_samples():
            if samples.make_things is not None:
                for world in worlds:
                    await samples.make_things(tx, world)
    return worlds


async def _make_people(database: Database, tx: Tx, role: Role) -> World:
    """The teams, who is in them, and what belongs to no feature in particular."""
    founder, subject, expired, stranger, victim, newcomer = [await teams.insert_account(tx) for _ in range(6)]
    team, other, entry = [await teams.insert_team(tx, founder.id) for _ in range(3)]
    await teams.insert_team(tx, stranger.id)
    for each in (team, other):
        await teams.insert_member(tx, each, subject.id, role)
    await teams.insert_member(tx, team, expired.id, role, expires_at=tx.now - teams.DAY)
    await teams.insert_member(tx, team, victim.id, Role.OBSERVER)
    invite, _ = await teams.insert_invite(tx, team, founder.id)
    _, token = await teams.insert_invite(tx, entry, founder.id)
    things, loose, deleted, queued = await _make_things(tx, subject.id, team)
    staging, suspended, artifacts = await _stage_things(tx, things)
    roles: dict[tuple[str, str], Role] = {
        **{(founder.id, each): Role.OWNER for each in (team, other, entry)},
        **{(subject.id, each): role for each in (team, other)},
        (victim.id, team): Role.OBSERVER,
    }
    return World(
        database,
        role,
        founder,
        subject,
        expired,
        stranger,
        victim,
        newcomer,
        team,
        other_team=other,
        invite=invite,
        token=token,
        entry_team=entry,
        things=things,
        loose_sites=loose,
        deleted_sites=deleted,
        queued_jobs=queued,
        roles=roles,
        staging=staging,
        suspended=suspended,
        artifacts=artifacts,
    )


async def _make_things(
    tx: Tx, account: str, team: str
) -> tuple[
    dict[tuple[type, Flavour], Thing],
    dict[Flavour, Thing],
    dict[Flavour, Thing],
    dict[Flavour, Thing],
]:
    """One of each kind of resource; sites in no project, deleted sites, and jobs that have not ended."""
    key, _ = await teams.insert_key(tx, account)
    test_key, _ = await teams.insert_key(tx, account, mode="test")
    found: list[tuple[Flavour, Thing]] = [
        ("team", Thing(VisibleTeam, team, team=team)),
        ("personal", Thing(VisibleKey, key, account=account)),
        ("test", Thing(VisibleKey, test_key, account=account, mode="test")),
    ]
    loose: dict[Flavour, Thing] = {}
    deleted: dict[Flavour, Thing] = {}
    queued: dict[Flavour, Thing] = {}
    flavours: list[tuple[Flavour, type, teams.OwnedBy]] = [
        ("team", VisibleTeamProject, {"team": team}),
        ("personal", VisibleProject, {"account": account}),
        ("test", VisibleProject, {"account": account}),
    ]
    for flavour, kind, owner in flavours:
        mode: Mode = "test" if flavour == "test" else "live"
        project = await teams.insert_project(tx, **owner)
        found.append((flavour, Thing(kind, project, **owner)))
        env = new_id("env")
        site = await teams.insert_site(tx, **owner, project=project, mode=mode, env=env)
        here = Thing(VisibleSite, site, **owner, project=project, mode=mode)
        found.append((flavour, here))
        found.append((flavour, replace(here, kind=VisibleEnvironment, id=env, site=site)))
        unassigned = await teams.insert_site(tx, **owner, mode=mode)
        loose[flavour] = replace(here, id=unassigned, project=None)
        gone = await teams.insert_site(tx, **owner, project=project, mode=mode, status="deleted")
        deleted[flavour] = replace(here, id=gone)
        found.append((flavour, await _job(tx, here, status="succeeded")))
        queued[flavour] = await _job(tx, here, status="queued")
    return {(thing.kind, flavour): thing for flavour, thing in found}, loose, deleted, queued


async def _stage_things(
    tx: Tx, things: dict[tuple[type, Flavour], Thing]
) -> tuple[dict[Flavour, Thing], dict[Flavour, Thing], dict[Flavour, str]]:
    """For each site: a staging environment that serves an artifact, a suspended one, and that artifact."""
    staging: dict[Flavour, Thing] = {}
    suspended: dict[Flavour, Thing] = {}
    artifacts: dict[Flavour, str] = {}
    for (kind, flavour), env in things.items():
        if kind is not VisibleEnvironment or env.site is None:
            continue
        artifact = artifacts[flavour] = await teams.insert_artifact(tx, env.site)
        other = await teams.insert_environment(tx, env.site)
        await teams.insert_deployment(tx, env.site, other, artifact)
        staging[flavour] = replace(env, id=other)
        paused = await teams.insert_environment(tx, env.site, "paused", status="suspended")
        suspended[flavour] = replace(env, id=paused)
    return staging, suspended, artifacts


async def _job(tx: Tx, like: Thing, *, status: str) -> Thing:
    """A job on a site of its own, so that it keeps no other busy."""
    site = await teams.insert_site(
        tx, account=like.account, team=like.team, project=like.project, mode=like.mode
    )
    job = await teams.insert_job(tx, site, like.team or like.account or "", status=status)
    return replace(like, kind=VisibleJob, id=job, site=site)
