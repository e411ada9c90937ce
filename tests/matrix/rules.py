"""What every call should be answered with, computed from the declaration and from the rules of permission.

This is a second, independent reading of docs/security.md: it looks at no query and at no handler.
"""

from collections.abc import Callable
from dataclasses import dataclass

from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import BodyInput, Operation, ResourceInput
from stead.control.http.visibility import Governed
from stead.control.jobs.rules import JobNotFound, VisibleJob
from stead.control.keys.rules import KeyNotFound, VisibleKey
from stead.control.projects.rules import ProjectNotFound, VisibleProject, VisibleTeamProject
from stead.control.sites.rules import SiteNotFound, TargetNotAdministered, VisibleSite
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.errors import (
    AccountNotFound,
    ApiError,
    CredentialMissing,
    NotFound,
    RoleInsufficient,
    ScopeInsufficient,
)
from stead.shared.roles import MASK, Role
from tests.feature_samples import merged
from tests.matrix.visibility import (
    sees_environment,
    sees_own,
    sees_own_project,
    sees_site,
    sees_team,
    sees_team_project,
    sees_with_environment,
)
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


VISIBLE: dict[type, tuple[Callable[[World, Caller, Thing], bool], type[NotFound]]] = {
    VisibleTeam: (sees_team, TeamNotFound),
    VisibleTeamProject: (sees_team_project, ProjectNotFound),
    VisibleProject: (sees_own_project, ProjectNotFound),
    VisibleSite: (sees_site, SiteNotFound),
    VisibleEnvironment: (sees_environment, EnvironmentNotFound),
    VisibleJob: (sees_site, JobNotFound),
    VisibleKey: (sees_own, KeyNotFound),
    **merged("visibility"),
}
"""For each type of resource, who sees it and what those who do not are told."""


_OF_SITES = {
    kind
    for kind, (sees, _) in VISIBLE.items()
    if sees in (sees_site, sees_environment, sees_with_environment)
}
"""Types that exist on the sites of a team as well as on those of a person."""


def flavours(operation: Operation) -> tuple[Flavour, ...]:
    kinds = {each.type for each in operation.inputs_of(ResourceInput)}
    if kinds & {VisibleTeam, VisibleTeamProject} or "team_id" in operation.path_parameters:
        return ("team",)
    return ("team", "personal") if kinds and kinds <= _OF_SITES else ("personal",)


def resources(operation: Operation, world: World, flavour: Flavour) -> list[Thing]:
    if operation.id == "sites.recover":
        return [world.deleted_sites[flavour]]
    other = other_than_production(operation, world, flavour)
    if other is not None:
        return [other]
    return [world.thing(each.type, flavour) for each in operation.inputs_of(ResourceInput)]


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
    if not (operation.own_account_param and oneself):
        for thing in (each for each in things if issubclass(each.kind, Governed)):
            role = world.role_in(caller, thing)
            assert role is not None
            too_low = operation.role is not None and not role.is_at_least(operation.role)
            if too_low or operation.requires.missing(MASK[role]) is not None:
                return _refused(RoleInsufficient, role.value)
    return _told_by_body(operation, world, caller, flavour)


def _told_by_body(operation: Operation, world: World, caller: Caller, flavour: Flavour) -> Expected:
    """A resource that the body names is looked up like one in the path, after everything else."""
    body = operation.input_of(BodyInput)
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
    if not sees_team(world, caller, target):
        return _refused(TeamNotFound)
    role = world.role_in(caller, target)
    return None if role is not None and role.is_at_least(Role.ADMIN) else _refused(TargetNotAdministered)


def _promoting(world: World, caller: Caller, flavour: Flavour) -> Expected | None:
    """The environment that gets it must be visible as well."""
    target = world.thing(VisibleEnvironment, flavour)
    return None if sees_environment(world, caller, target) else _refused(EnvironmentNotFound)


PARTICULAR: dict[str, Callable[[World, Caller, Flavour], Expected | None]] = {
    "sites.create": _creating,
    "jobs.cancel": _cancelling,
    "sites.transfer": _transferring,
    "deployments.promote": _promoting,
    "environments.push": _promoting,
    **merged("more_expected"),
}
"""Operations whose description asks for more than their declaration can say."""


def _refused(error: type[ApiError], named: str = "") -> Expected:
    return Expected(error.status, error.code, named)
