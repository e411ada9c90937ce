"""What every call should be answered with, computed from the declaration and from the rules of permission.

This is a second, independent reading of docs/security.md: it looks at no query and at no handler.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from stead.control.builds.rules import BuildNotFound, VisibleBuild
from stead.control.deployments.rules import DeploymentNotFound, VisibleDeployment
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import BodyInput, Operation, ResourceInput
from stead.control.http.visibility import Governed
from stead.control.jobs.rules import JobNotFound, VisibleJob
from stead.control.keys.rules import KeyNotFound, VisibleKey
from stead.control.projects.rules import ProjectNotFound, VisibleProject, VisibleTeamProject
from stead.control.sites.rules import SiteNotFound, TargetNotAdministered, VisibleSite
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.control.webhooks.rules import (
    DeliveryNotFound,
    EndpointNotFound,
    VisibleDelivery,
    VisibleEndpoint,
)
from stead.shared.errors import (
    AccountNotFound,
    ApiError,
    CredentialMissing,
    NotFound,
    RoleInsufficient,
    ScopeInsufficient,
)
from stead.shared.roles import MASK, Role
from tests.matrix.world import Caller, Flavour, Thing, World, other_than_production


@dataclass(frozen=True)
class Expected:
    status: int
    code: str | None = None
    named: str = ""
    """What the message must name."""

    @property
    def succeeds(self) -> bool:
        return self.code is None


def _pinned_to(caller: Caller, **ids: str | None) -> bool:
    return caller.pin is None or ids.get(caller.pin.type) == caller.pin.id


def _team(world: World, caller: Caller, team: Thing) -> bool:
    return world.role_in(caller, team) is not None and _pinned_to(caller, team=team.id)


def _team_project(world: World, caller: Caller, project: Thing) -> bool:
    return world.role_in(caller, project) is not None and _pinned_to(
        caller, team=project.team, project=project.id
    )


def _own_project(world: World, caller: Caller, project: Thing) -> bool:
    return project.account == caller.account and _pinned_to(caller, project=project.id)


def _site(world: World, caller: Caller, site: Thing) -> bool:
    role = world.role_in(caller, site)
    if role is None or "sites:read" not in MASK[role] or site.mode not in caller.modes:
        return False
    return _pinned_to(caller, team=site.team, project=site.project, site=site.site or site.id)


def _environment(world: World, caller: Caller, env: Thing) -> bool:
    pinned_here = caller.pin is not None and (caller.pin.type, caller.pin.id) == ("environment", env.id)
    return _site(world, replace(caller, pin=None) if pinned_here else caller, env)


def _of_environment(world: World, caller: Caller, thing: Thing) -> bool:
    return _environment(world, caller, world.thing(VisibleEnvironment, "team" if thing.team else "personal"))


def _key(world: World, caller: Caller, key: Thing) -> bool:
    mine = key.account == caller.account and (caller.mode == "live" or key.mode == "test")
    return mine and (caller.pin is None or caller.pin == key.pin)


VISIBLE: dict[type, tuple[Callable[[World, Caller, Thing], bool], type[NotFound]]] = {
    VisibleTeam: (_team, TeamNotFound),
    VisibleTeamProject: (_team_project, ProjectNotFound),
    VisibleProject: (_own_project, ProjectNotFound),
    VisibleSite: (_site, SiteNotFound),
    VisibleEnvironment: (_environment, EnvironmentNotFound),
    VisibleBuild: (_of_environment, BuildNotFound),
    VisibleDeployment: (_of_environment, DeploymentNotFound),
    VisibleJob: (_site, JobNotFound),
    VisibleKey: (_key, KeyNotFound),
    VisibleEndpoint: (_key, EndpointNotFound),
    VisibleDelivery: (_key, DeliveryNotFound),
}
"""For each type of resource, who sees it and what those who do not are told."""


def flavours(operation: Operation) -> tuple[Flavour, ...]:
    kinds = {each.type for each in operation.every(ResourceInput)}
    if kinds & {VisibleTeam, VisibleTeamProject} or "team_id" in operation.path_parameters:
        return ("team",)
    sites = {VisibleSite, VisibleEnvironment, VisibleBuild, VisibleDeployment, VisibleJob}
    return ("team", "personal") if kinds and kinds <= sites else ("personal",)


def resources(operation: Operation, world: World, flavour: Flavour) -> list[Thing]:
    if operation.id == "sites.recover":
        return [world.deleted_sites[flavour]]
    other = other_than_production(operation, world, flavour)
    if other is not None:
        return [other]
    return [world.thing(each.type, flavour) for each in operation.every(ResourceInput)]


def expected(
    operation: Operation, world: World, caller: Caller, flavour: Flavour, *, oneself: bool
) -> Expected:
    if operation.requires.public:
        return Expected(operation.status)
    if caller.kind is None:
        return _refused(CredentialMissing)
    if operation.account_wide and caller.pin is not None:
        return _refused(AccountNotFound)
    things = resources(operation, world, flavour)
    for thing in things:
        sees, not_found = VISIBLE[thing.kind]
        if not sees(world, caller, thing):
            return _refused(not_found)
    missing = operation.requires.missing(caller.allowed)
    if missing is not None:
        return _refused(ScopeInsufficient, missing)
    if not (operation.own and oneself):
        for thing in (each for each in things if issubclass(each.kind, Governed)):
            role = world.role_in(caller, thing)
            assert role is not None
            too_low = operation.role is not None and not role.reaches(operation.role)
            if too_low or operation.requires.missing(MASK[role]) is not None:
                return _refused(RoleInsufficient, role.value)
    return _told_by_body(operation, world, caller, flavour)


def _told_by_body(operation: Operation, world: World, caller: Caller, flavour: Flavour) -> Expected:
    """A resource that the body names is looked up like one in the path, after everything else."""
    body = operation.input(BodyInput)
    if body is not None and "site_id" in body.shape.__struct_fields__:
        sees, not_found = VISIBLE[VisibleSite]
        if not sees(world, caller, world.loose_sites[flavour]):
            return _refused(not_found)
    particular = PARTICULAR.get(operation.id)
    return (particular and particular(world, caller, flavour)) or Expected(operation.status)


def _creating(world: World, caller: Caller, flavour: Flavour) -> Expected | None:
    """A pinned key creates only under the team of its pin, which the documented body does not name."""
    return _refused(AccountNotFound) if caller.pin is not None else None


def _cancelling(world: World, caller: Caller, flavour: Flavour) -> Expected | None:
    """Whoever may start such a job may cancel it: these were started with `sites:write`."""
    role = world.role_in(caller, world.queued_jobs[flavour])
    if "sites:write" not in caller.allowed:
        return _refused(ScopeInsufficient, "sites:write")
    if role is None or "sites:write" not in MASK[role]:
        return _refused(RoleInsufficient, role.value if role else "")
    return None


def _transferring(world: World, caller: Caller, flavour: Flavour) -> Expected | None:
    """The team it goes to must be visible, and its administration the caller's."""
    target = Thing(VisibleTeam, world.other_team, team=world.other_team)
    if not _team(world, caller, target):
        return _refused(TeamNotFound)
    role = world.role_in(caller, target)
    return None if role is not None and role.reaches(Role.ADMIN) else _refused(TargetNotAdministered)


def _promoting(world: World, caller: Caller, flavour: Flavour) -> Expected | None:
    """The environment that gets it must be visible as well."""
    target = world.thing(VisibleEnvironment, flavour)
    return None if _environment(world, caller, target) else _refused(EnvironmentNotFound)


PARTICULAR: dict[str, Callable[[World, Caller, Flavour], Expected | None]] = {
    "sites.create": _creating,
    "jobs.cancel": _cancelling,
    "sites.transfer": _transferring,
    "deployments.promote": _promoting,
    "environments.push": _promoting,
}
"""Operations whose description asks for more than their declaration can say."""


def _refused(error: type[ApiError], named: str = "") -> Expected:
    return Expected(error.status, error.code, named)
