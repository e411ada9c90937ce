"""Use cases of teams. Each runs in the caller's transaction."""

from msgspec import UNSET

from stead.control.engines.postgres import Tx
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.http.principal_cache import invalidate_cached_principals
from stead.control.outbox.events import About, publish
from stead.control.plans import service as plans
from stead.control.plans.schema import PlanView
from stead.control.teams import store
from stead.control.teams.events import TEAM_CREATED, TEAM_DELETED, TEAM_RENAMED
from stead.control.teams.rules import TeamHasSites, TeamNotFound, VisibleTeam
from stead.control.teams.schema import NewTeam, TeamChange, TeamView
from stead.shared.ids import TeamId, has_shape, new_id


async def visible_team(call: Call, team_id: str) -> VisibleTeam:
    return await find(call.tx, call.caller, team_id)


async def find(tx: Tx, caller: Principal, team_id: str) -> VisibleTeam:
    team = await store.find(tx, caller, team_id) if has_shape("team", team_id) else None
    if team is None:
        raise TeamNotFound
    return team


async def browse(tx: Tx, caller: Principal, page: PageRequest) -> Page[TeamView]:
    return await store.page(tx, caller, page)


async def create(tx: Tx, caller: Principal, new: NewTeam) -> TeamId:
    await plans.require_room_in_account(tx, caller.account_id, "teams")
    team = TeamId(new_id("team"))
    await store.insert(tx, team, new.name, caller)
    await store.insert_owner(tx, team, caller)
    await publish(tx, TEAM_CREATED, About(team_id=team), name=new.name)
    return team


async def update(tx: Tx, team: VisibleTeam, change: TeamChange) -> str:
    if change.name is UNSET:
        return team.name
    await store.rename(tx, team, change.name)
    await publish(tx, TEAM_RENAMED, About(team_id=team.id), name=change.name)
    return change.name


async def delete(tx: Tx, caller: Principal, team: VisibleTeam) -> None:
    await store.lock(tx, team.id)
    if await store.has_sites(tx, team):
        raise TeamHasSites
    accounts = await store.delete(tx, caller, team)
    await invalidate_cached_principals(tx, *accounts)
    # The team has no members any more, so the event belongs to the account of the caller.
    await publish(tx, TEAM_DELETED, About(account_id=caller.account_id), name=team.name)


async def lock(tx: Tx, team: TeamId) -> bool:
    """Lock a team before changing its members or deleting it. False if it was deleted meanwhile."""
    return await store.lock(tx, team)


async def plan(tx: Tx, team: VisibleTeam) -> PlanView:
    found_plan = await plans.of_team(tx, team.id)
    if found_plan is None:
        raise TeamNotFound
    return found_plan
