"""Who sees a resource: the rules of docs/security.md, written a second time and independently of the code."""

from dataclasses import replace

from stead.control.environments.rules import VisibleEnvironment
from tests.matrix.permission_tables import SITE_VIEWERS
from tests.matrix.world import Caller, Flavour, Thing, World


def _pinned_to(caller: Caller, **ids: str | None) -> bool:
    return caller.pin is None or ids.get(caller.pin.type) == caller.pin.id


def sees_team(world: World, caller: Caller, team: Thing) -> bool:
    return world.role_in(caller, team) is not None and _pinned_to(caller, team=team.id)


def sees_team_project(world: World, caller: Caller, project: Thing) -> bool:
    return world.role_in(caller, project) is not None and _pinned_to(
        caller, team=project.team, project=project.id
    )


def sees_own_project(world: World, caller: Caller, project: Thing) -> bool:
    return project.account == caller.account and _pinned_to(caller, project=project.id)


def sees_site(world: World, caller: Caller, site: Thing) -> bool:
    role = world.role_in(caller, site)
    if role not in SITE_VIEWERS or site.mode not in caller.modes:
        return False
    return _pinned_to(caller, team=site.team, project=site.project, site=site.site or site.id)


def sees_environment(world: World, caller: Caller, env: Thing) -> bool:
    pinned_here = caller.pin is not None and (caller.pin.type, caller.pin.id) == ("environment", env.id)
    return sees_site(world, replace(caller, pin=None) if pinned_here else caller, env)


def sees_with_environment(world: World, caller: Caller, thing: Thing) -> bool:
    return sees_environment(world, caller, world.thing(VisibleEnvironment, _flavour(thing)))


def _flavour(thing: Thing) -> Flavour:
    if thing.team is not None:
        return "team"
    return "test" if thing.mode == "test" else "personal"


def sees_own(world: World, caller: Caller, key: Thing) -> bool:
    mine = key.account == caller.account and (caller.mode == "live" or key.mode == "test")
    return mine and (caller.pin is None or caller.pin == key.pin)
