"""What every call should be answered with, computed from the contract and from the tables of permission.

This is a second, independent reading of the description: it looks at no query, no handler and no declaration
of what an operation requires.
"""

from collections.abc import Callable
from dataclasses import dataclass

from stead.control.accounts.rules import VisibleSession
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment, VisibleProduction
from stead.control.http.operations import BodyInput, Operation, ResourceInput
from stead.control.jobs.rules import JobNotFound, VisibleJob
from stead.control.keys.rules import KeyNotFound, VisibleKey
from stead.control.projects.rules import ProjectNotFound, VisibleProject, VisibleTeamProject
from stead.control.sites.rules import SiteNotFound, TargetNotAdministered, VisibleSite
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.errors import AccountNotFound, ApiError, NotFound
from stead.shared.roles import Role
from tests.feature_samples import all_samples, merged
from tests.matrix.permission_tables import (
    ADMINISTRATORS,
    ALLOWED_ON_ONESELF,
    REFUSED_TO_PINNED_KEYS,
    ROLES,
    missing_scope,
    row_of,
)
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
    VisibleProduction: (sees_environment, SiteNotFound),
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


_WITHOUT_MODES = {VisibleSession}
"""Types of which there is nothing in test mode."""


def flavours(operation: Operation) -> tuple[Flavour, ...]:
    kinds = {each.type for each in operation.inputs_of(ResourceInput)}
    if kinds & {VisibleTeam, VisibleTeamProject} or "team_id" in operation.path_parameters:
        return ("team",)
    return ("team", "personal") if kinds and kinds <= _OF_SITES else ("personal",)


def flavours_with_test_mode(operation: Operation) -> tuple[Flavour, ...]:
    """The same, and the member's own in test mode where there is such a thing."""
    found = flavours(operation)
    kinds = {each.type for each in operation.inputs_of(ResourceInput)}
    return (*found, "test") if "personal" in found and kinds and not kinds & _WITHOUT_MODES else found


def resources(operation: Operation, world: World, flavour: Flavour) -> list[Thing]:
    if operation.id == "sites.recover":
        return [world.deleted_sites[flavour]]
    other = other_than_production(operation, world, flavour)
    if other is not None:
        return [other]
    return [world.thing(each.type, flavour) for each in operation.inputs_of(ResourceInput)]


_IN_EITHER_MODE = {
    *("sites", "environments", "domains", "deployments", "builds", "uploads", "cache", "jobs"),
    *("api_keys", "webhook_endpoints", "webhook_deliveries"),
}
"""Groups of operations on things that exist in test mode as well."""
_MORE_IN_EITHER_MODE = {
    *(f"{group}.{verb}_site" for group in ("projects", "team_projects") for verb in ("assign", "remove")),
    *("notifications.mark_read", "sessions.revoke"),
}
_HIDDEN_FROM_TEST_KEYS = {
    *("account.audit", "teams.audit", "members.list", "invites.list", "sessions.list"),
    "device_authorizations.get",
}


def concerns_more_than_test_mode(operation: Operation) -> bool:
    """Whether a test credential is refused, whatever it asks about."""
    if operation.method == "GET":
        return operation.id in _HIDDEN_FROM_TEST_KEYS
    declared = {id_ for samples in all_samples() for id_ in samples.open_to_test_keys}
    group = operation.id.partition(".")[0]
    return group not in _IN_EITHER_MODE and operation.id not in _MORE_IN_EITHER_MODE | declared


def expected(
    operation: Operation, world: World, caller: Caller, flavour: Flavour, *, oneself: bool
) -> Expected:
    row = row_of(operation)
    if row.public:
        return Expected(row.status)
    if caller.kind is None:
        return Expected(401, "auth.missing")
    if row.id in REFUSED_TO_PINNED_KEYS and caller.pin is not None:
        return _refused(AccountNotFound)
    things = resources(operation, world, flavour)
    for thing in things:
        sees, not_found = VISIBLE[thing.kind]
        if not sees(world, caller, thing):
            return _refused(not_found)
    refused = _refused_to_credential(operation, caller)
    if refused is not None:
        return refused
    if row.roles and not (row.id in ALLOWED_ON_ONESELF and oneself):
        for thing in things:
            role = world.role_in(caller, thing)
            assert role is not None
            if role.value not in row.roles:
                return _refused_to_role(role)
    return _told_by_body(operation, world, caller, flavour)


def _refused_to_credential(operation: Operation, caller: Caller) -> Expected | None:
    """Because of its mode or its scopes."""
    if caller.mode == "test" and concerns_more_than_test_mode(operation):
        return Expected(403, "mode.test")
    missing = missing_scope(row_of(operation), caller.allowed)
    return None if missing is None else Expected(403, "scope.insufficient", missing)


def _told_by_body(operation: Operation, world: World, caller: Caller, flavour: Flavour) -> Expected:
    """A resource that the body names is looked up like one in the path, after everything else."""
    body = operation.input_of(BodyInput)
    if body is not None and "site_id" in body.shape.__struct_fields__:
        sees, not_found = VISIBLE[VisibleSite]
        if not sees(world, caller, world.loose_sites[flavour]):
            return _refused(not_found)
    particular = PARTICULAR.get(operation.id)
    return (particular and particular(world, caller, flavour)) or Expected(row_of(operation).status)


def _creating(world: World, caller: Caller, flavour: Flavour) -> Expected | None:
    """A pinned key creates only under the team of its pin, which the documented body does not name."""
    return _refused(AccountNotFound) if caller.pin is not None else None


def _cancelling(world: World, caller: Caller, flavour: Flavour) -> Expected | None:
    """Whoever may start such a job may cancel it: these were started with `sites:write`."""
    role = world.role_in(caller, world.queued_jobs[flavour])
    if "sites:write" not in caller.allowed:
        return Expected(403, "scope.insufficient", "sites:write")
    return None if role is not None and "sites:write" in ROLES[role] else _refused_to_role(role)


def _transferring(world: World, caller: Caller, flavour: Flavour) -> Expected | None:
    """The team it goes to must be visible, and its administration the caller's."""
    target = Thing(VisibleTeam, world.other_team, team=world.other_team)
    if not sees_team(world, caller, target):
        return _refused(TeamNotFound)
    role = world.role_in(caller, target)
    return None if role in ADMINISTRATORS else _refused(TargetNotAdministered)


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


def _refused(error: type[ApiError]) -> Expected:
    return Expected(error.status, error.code)


def _refused_to_role(role: Role | None) -> Expected:
    return Expected(403, "role.insufficient", role.value if role else "")
