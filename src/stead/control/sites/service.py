"""The use cases of sites, each inside the caller's transaction."""

from typing import Any

from msgspec import UNSET

from stead.control.engines.postgres import Tx, UniqueViolation
from stead.control.environments import jobs as environment_kinds
from stead.control.environments import service as environments
from stead.control.environments.jobs import EnvironmentWork
from stead.control.http.host_names import InvalidUrl
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import Refused
from stead.control.jobs.kinds import Job
from stead.control.jobs.schema import JobView
from stead.control.outbox.audit import AuditEntry
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner
from stead.control.sites import jobs as kinds
from stead.control.sites import repositories, store
from stead.control.sites.domains import new_slug, normalize_domain
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
    may_change,
)
from stead.control.sites.schema import Deletion, NewSite, SiteView, Transfer
from stead.control.teams import service as teams
from stead.control.teams.rules import TeamNotFound
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


async def set_project(tx: Tx, site: VisibleSite, project: ProjectId | None) -> None:
    await store.set_project(tx, site, project)


async def create(tx: Tx, caller: Principal, new: NewSite, *, preview_domain: str) -> tuple[SiteView, JobView]:
    _validate(new)
    domain = normalize_domain(new.domain, preview_domain=preview_domain)
    owner = await _resolve_owner(tx, caller, new.team_id)
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
    if not may_change(site.status, "deleting"):
        raise SiteBusy(status=site.status)
    reason = await store.get_status_reason(tx, site)
    if not await store.set_status(tx, site.id, "deleting", after=(site.status,)):
        raise SiteBusy(status=site.status)
    work = SiteWork(status_before=site.status, reason_before=reason)
    return await jobs.enqueue(tx, kinds.DELETE, work, _subject(site), scope="sites:admin")


async def recover(tx: Tx, site: VisibleSite) -> JobView:
    if site.status != "deleted" or site.recoverable_until is None or site.recoverable_until <= tx.now:
        raise NotRecoverable
    owner = Owner(site.account_id, site.team_id)
    await plans.require_room(tx, owner, "sites")
    await plans.require_room(tx, owner, "environments", more=await environments.count_restorable(tx, site.id))
    if await store.domain_is_taken(tx, site.domain):
        raise DomainTaken(domain=site.domain)
    try:
        await store.set_status(tx, site.id, "provisioning", after=("deleted",))
    except UniqueViolation:
        raise DomainTaken(domain=site.domain) from None
    # Deleted environments are not announced to the edges, so production must not stay deleted.
    await environments.set_status(tx, (await environments.get_production(tx, site.id)).id, "provisioning")
    work = SiteWork(recoverable_until=site.recoverable_until)
    return await jobs.enqueue(tx, kinds.RECOVER, work, _subject(site), scope="sites:admin")


async def purge_expired(tx: Tx) -> int:
    """Queue jobs that remove deleted sites from their nodes once they can no longer be recovered. Returns for
    how many sites.

    The clones of a site are removed first; production follows when this is called again.
    """
    expired = await store.list_expired(tx)
    for site, owner in expired:
        clones = [env.id for env in await environments.list_placed(tx, site) if env.type != "production"]
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
    """Move a site to another owner. `entry` is the audit entry of the team that gives the site away; the
    caller of this function records the one of the team that receives it."""
    target = await _resolve_target(tx, caller, wanted)
    if await jobs.is_busy(tx, site.id):
        raise SiteBusy(status=site.status)
    if (target.account_id, target.team_id) != (site.account_id, site.team_id):
        await plans.require_room(tx, target, "sites")
        await plans.require_room(
            tx, target, "environments", more=await environments.count_clones(tx, site.id)
        )
        await store.set_owner(tx, site, account=target.account_id, team=target.team_id)
    # Both owners get the event. A transfer to the current owner is one event.
    owners = [(site.account_id, site.team_id), (target.account_id, target.team_id)]
    for account, team in dict.fromkeys(owners):
        about = About(account_id=account, team_id=team, site_id=site.id)
        await publish(tx, SITE_TRANSFERRED, about, from_team=site.team_id, to_team=target.team_id)
    entry.note(from_team=site.team_id, to_team=target.team_id)
    return target


async def mark_awaiting_push(tx: Tx, site: str, branch: str) -> None:
    """The site serves its placeholder page until the branch exists."""
    reason = f"The branch {branch} does not exist yet."
    await store.set_status(tx, site, "awaiting_push", after=("running",), reason=reason)


async def mark_first_push_live(tx: Tx, site: str) -> None:
    await store.set_status(tx, site, "running", after=("awaiting_push",))


async def get_facts(tx: Tx, site: str) -> SiteFacts:
    found = await store.get_facts(tx, site)
    if found is None:
        raise Refused(SiteNotFound.code, "The site does not exist any more.")
    return found


async def publish_job_event(tx: Tx, job: Job[Any], event: EventType, **data: Fact) -> None:
    """Publish an event about a job of a site to the current owner of the site."""
    facts = await get_facts(tx, job.site_id)
    await publish(tx, event, facts.about(job), domain=facts.domain, **data)


def _subject(site: VisibleSite) -> jobs.Subject:
    return jobs.Subject(site.id, site.owner)


def _validate(new: NewSite) -> None:
    if new.profile == "git_managed" and new.git_repo is None:
        raise FieldInvalid(param="git_repo", reason="A git-managed site needs a repository.")
    if new.git_repo is not None:
        _validate_repository(new.git_repo)
    if new.git_branch is not None and not is_plain_branch_name(new.git_branch):
        raise FieldInvalid(param="git_branch", reason="It is not a valid branch name.")
    if new.php_version is not None and RUNTIME_OF[new.profile] != "cms":
        raise FieldInvalid(param="php_version", reason=f"A {new.profile} site has no PHP.")


def _validate_repository(url: str) -> None:
    try:
        repositories.parse_url(url)
    except InvalidUrl as reason:
        raise FieldInvalid(param="git_repo", reason=f"This repository cannot be used: {reason}") from None


async def _resolve_owner(tx: Tx, caller: Principal, team_id: str | None) -> Owner:
    """A pinned key creates sites only in the team it is pinned to. A narrower pin creates none."""
    if caller.pin is not None and (caller.pin.type, caller.pin.id) != ("team", team_id):
        raise AccountNotFound
    if team_id is None:
        return Owner(account_id=caller.account_id)
    return Owner(team_id=await _require_administered_team(tx, caller, team_id))


async def _resolve_target(tx: Tx, caller: Principal, wanted: Transfer) -> Owner:
    if (wanted.to_team_id is UNSET) == (wanted.to_client_id is UNSET):
        raise FieldInvalid(param="to_team_id", reason="Send exactly one of `to_team_id` and `to_client_id`.")
    if isinstance(wanted.to_team_id, str):
        return Owner(team_id=await _require_administered_team(tx, caller, wanted.to_team_id))
    if wanted.to_client_id != caller.account_id or caller.pin is not None:
        raise AccountNotFound
    return Owner(account_id=AccountId(caller.account_id))


async def _require_administered_team(tx: Tx, caller: Principal, team_id: str) -> TeamId:
    team = await teams.find(tx, caller, team_id)
    if not team.role.is_at_least(Role.ADMIN):
        raise TargetNotAdministered
    if not await teams.lock(tx, team.id):
        raise TeamNotFound
    return team.id
