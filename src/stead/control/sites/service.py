"""What callers do with sites, each inside the caller's transaction."""

from typing import Any

from msgspec import UNSET

from stead.control.engines.postgres import Tx, UniqueViolation
from stead.control.environments import jobs as environment_kinds
from stead.control.environments import service as environments
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.rules import Environment
from stead.control.http.host_names import InvalidUrl
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import NodeCommand, Refused
from stead.control.jobs.kinds import Job
from stead.control.jobs.rules import NoNode
from stead.control.jobs.schema import JobView
from stead.control.outbox.audit import AuditEntry
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner
from stead.control.sites import jobs as kinds
from stead.control.sites import repositories, store
from stead.control.sites.domains import new_slug, normal_domain
from stead.control.sites.events import SITE_CREATED, SITE_TRANSFERRED
from stead.control.sites.jobs import SiteFacts, SiteWork
from stead.control.sites.rules import (
    DEFAULT_PHP,
    RUNTIME_OF,
    ConfirmDomainMismatch,
    DomainTaken,
    NotRecoverable,
    SiteBusy,
    SiteNotFound,
    TargetNotAdministered,
    VisibleSite,
    may_become,
)
from stead.control.sites.schema import Deletion, NewSite, SiteView, Transfer
from stead.control.teams import service as teams
from stead.control.teams.rules import TeamNotFound
from stead.protocol.work import Work
from stead.shared.branches import is_plain_branch_name
from stead.shared.errors import AccountNotFound, FieldInvalid
from stead.shared.ids import AccountId, ProjectId, SiteId, TeamId, has_shape, new_id
from stead.shared.roles import Role


async def visible_site(call: Call, site_id: str) -> VisibleSite:
    return await find(call.tx, call.caller, site_id)


async def find(tx: Tx, caller: Principal, site_id: str) -> VisibleSite:
    site = await store.find(tx, caller, site_id) if has_shape("site", site_id) else None
    if site is None:
        raise SiteNotFound
    return site


async def view(tx: Tx, site: VisibleSite) -> SiteView:
    found = await store.view(tx, site)
    if found is None:
        raise SiteNotFound
    return found


async def browse(tx: Tx, caller: Principal, page: PageRequest) -> Page[SiteView]:
    return await store.page(tx, caller, page)


async def browse_team(tx: Tx, caller: Principal, team: TeamId, page: PageRequest) -> Page[SiteView]:
    return await store.page_of_team(tx, caller, team, page)


async def browse_project(tx: Tx, caller: Principal, project: ProjectId, page: PageRequest) -> Page[SiteView]:
    return await store.page_of_project(tx, caller, project, page)


async def put_into(tx: Tx, site: VisibleSite, project: ProjectId | None) -> None:
    await store.set_project(tx, site, project)


async def create(tx: Tx, caller: Principal, new: NewSite, *, preview_domain: str) -> tuple[SiteView, JobView]:
    _check(new)
    domain = normal_domain(new.domain, preview_domain=preview_domain)
    owner = await _owner(tx, caller, new.team_id)
    await plans.require_room(tx, owner, "sites")
    is_cms = RUNTIME_OF[new.profile] == "cms"
    site = SiteView(
        id=new_id("site"),
        slug=new_slug(domain),
        domain=domain,
        profile=new.profile,
        runtime=RUNTIME_OF[new.profile],
        php_version=(new.php_version or DEFAULT_PHP) if is_cms else None,
        region=new.region,
        git_repo=new.git_repo,
        git_branch=new.git_branch or ("main" if new.git_repo else None),
        team_id=owner.team_id,
        project_id=None,
        status="provisioning",
        status_reason=None,
        recoverable_until=None,
        created_at=tx.now,
    )
    if not await store.insert(tx, site, account=owner.account_id, mode=caller.mode):
        raise DomainTaken(domain=domain)
    env = await environments.create_production(tx, SiteId(site.id), f"{site.slug}.{preview_domain}")
    about = About(account_id=owner.account_id, team_id=owner.team_id, site_id=site.id)
    await publish(tx, SITE_CREATED, about, domain=domain, profile=site.profile)
    subject = jobs.Subject(site.id, owner.team_id or caller.account_id, env_id=env, id=site.id)
    return site, await jobs.enqueue(tx, kinds.DEPLOY, SiteWork(), subject, scope="sites:write")


async def restart(tx: Tx, site: VisibleSite) -> JobView:
    if site.status not in ("running", "stopped", "failed"):
        raise SiteBusy(status=site.status)
    return await jobs.enqueue(tx, kinds.RESTART, SiteWork(), _subject(site), scope="sites:write")


async def delete(tx: Tx, site: VisibleSite, wanted: Deletion) -> JobView:
    if wanted.confirm_domain != site.domain:
        raise ConfirmDomainMismatch(param="confirm_domain")
    if not may_become(site.status, "deleting"):
        raise SiteBusy(status=site.status)
    reason = await store.status_reason(tx, site)
    if not await store.set_status(tx, site.id, "deleting", after=(site.status,)):
        raise SiteBusy(status=site.status)
    work = SiteWork(status_before=site.status, reason_before=reason)
    return await jobs.enqueue(tx, kinds.DELETE, work, _subject(site), scope="sites:admin")


async def recover(tx: Tx, site: VisibleSite) -> JobView:
    if site.status != "deleted" or site.recoverable_until is None or site.recoverable_until <= tx.now:
        raise NotRecoverable
    owner = Owner(site.account_id, site.team_id)
    await plans.require_room(tx, owner, "sites")
    await plans.require_room(tx, owner, "environments", more=await environments.to_come_back(tx, site.id))
    if await store.domain_is_taken(tx, site.domain):
        raise DomainTaken(domain=site.domain)
    try:
        await store.set_status(tx, site.id, "provisioning", after=("deleted",))
    except UniqueViolation:
        raise DomainTaken(domain=site.domain) from None
    # Without it the edges would not be told of it: they are not of what is deleted.
    await environments.become(tx, (await environments.production(tx, site.id)).id, "provisioning")
    work = SiteWork(recoverable_until=site.recoverable_until)
    return await jobs.enqueue(tx, kinds.RECOVER, work, _subject(site), scope="sites:admin")


async def purge_expired(tx: Tx) -> int:
    """Queue the removal of what deleted sites left on their nodes, once they cannot be recovered any more:
    production comes last, when this is called again."""
    expired = await store.expired(tx)
    for site, owner in expired:
        clones = [env.id for env in await environments.placed(tx, site) if env.type != "production"]
        for env in clones:
            subject = jobs.Subject(site, owner, env_id=env)
            await jobs.enqueue(
                tx, environment_kinds.PURGE, EnvironmentWork(env), subject, scope="sites:admin"
            )
        if not clones:
            await jobs.enqueue(tx, kinds.PURGE, SiteWork(), jobs.Subject(site, owner), scope="sites:admin")
    return len(expired)


async def transfer(
    tx: Tx, caller: Principal, site: VisibleSite, wanted: Transfer, entry: AuditEntry
) -> Owner:
    """Both teams read of it: `entry` is told of the one it came from, the caller writes the other's."""
    target = await _target(tx, caller, wanted)
    if await jobs.is_busy(tx, site.id):
        raise SiteBusy(status=site.status)
    if (target.account_id, target.team_id) != (site.account_id, site.team_id):
        await plans.require_room(tx, target, "sites")
        await plans.require_room(tx, target, "environments", more=await environments.count(tx, site.id))
        await store.give(tx, site, account=target.account_id, team=target.team_id)
    # Both sides are told; of a site that stays where it is there is only one.
    owners = [(site.account_id, site.team_id), (target.account_id, target.team_id)]
    for account, team in dict.fromkeys(owners):
        about = About(account_id=account, team_id=team, site_id=site.id)
        await publish(tx, SITE_TRANSFERRED, about, from_team=site.team_id, to_team=target.team_id)
    entry.note(from_team=site.team_id, to_team=target.team_id)
    return target


async def await_push(tx: Tx, site: str, branch: str) -> None:
    """There is nothing to show but the placeholder until the branch is there."""
    reason = f"The branch {branch} does not exist yet."
    await store.set_status(tx, site, "awaiting_push", after=("running",), reason=reason)


async def arrived(tx: Tx, site: str) -> None:
    """Its first push is live."""
    await store.set_status(tx, site, "running", after=("awaiting_push",))


async def node_command(tx: Tx, site: str, env: Environment, work: Work) -> NodeCommand:
    """For the node that carries the environment; simulated where the site is."""
    if env.node_id is None:
        raise Refused(NoNode.code, "No node carries the site.")
    return NodeCommand(env.node_id, env.id, "simulator" if (await facts(tx, site)).is_test else "live", work)


async def facts(tx: Tx, site: str) -> SiteFacts:
    found = await store.facts(tx, site)
    if found is None:
        raise Refused(SiteNotFound.code, "The site is gone.")
    return found


async def tell(tx: Tx, job: Job[Any], event: EventType, **data: Fact) -> None:
    """Publish what a job did to a site, to whoever owns it now."""
    known = await facts(tx, job.site_id)
    await publish(tx, event, known.about(job), domain=known.domain, **data)


def _subject(site: VisibleSite) -> jobs.Subject:
    return jobs.Subject(site.id, site.owner)


def _check(new: NewSite) -> None:
    if new.profile == "git_managed" and new.git_repo is None:
        raise FieldInvalid(param="git_repo", reason="A git-managed site needs a repository.")
    if new.git_repo is not None:
        _check_repository(new.git_repo)
    if new.git_branch is not None and not is_plain_branch_name(new.git_branch):
        raise FieldInvalid(param="git_branch", reason="It is not the name of a branch.")
    if new.php_version is not None and RUNTIME_OF[new.profile] != "cms":
        raise FieldInvalid(param="php_version", reason=f"A {new.profile} site has no PHP.")


def _check_repository(url: str) -> None:
    try:
        repositories.read(url)
    except InvalidUrl as reason:
        raise FieldInvalid(param="git_repo", reason=f"This repository cannot be used: {reason}") from None


async def _owner(tx: Tx, caller: Principal, team_id: str | None) -> Owner:
    """A pinned key creates within its pin: under its team, and nowhere if the pin is smaller."""
    if caller.pin is not None and (caller.pin.type, caller.pin.id) != ("team", team_id):
        raise AccountNotFound
    if team_id is None:
        return Owner(account_id=caller.account_id)
    return Owner(team_id=await _administered(tx, caller, team_id))


async def _target(tx: Tx, caller: Principal, wanted: Transfer) -> Owner:
    if (wanted.to_team_id is UNSET) == (wanted.to_client_id is UNSET):
        raise FieldInvalid(param="to_team_id", reason="Send exactly one of `to_team_id` and `to_client_id`.")
    if isinstance(wanted.to_team_id, str):
        return Owner(team_id=await _administered(tx, caller, wanted.to_team_id))
    if wanted.to_client_id != caller.account_id or caller.pin is not None:
        raise AccountNotFound
    return Owner(account_id=AccountId(caller.account_id))


async def _administered(tx: Tx, caller: Principal, team_id: str) -> TeamId:
    team = await teams.find(tx, caller, team_id)
    if not team.role.is_at_least(Role.ADMIN):
        raise TargetNotAdministered
    if not await teams.lock(tx, team.id):
        raise TeamNotFound
    return team.id
