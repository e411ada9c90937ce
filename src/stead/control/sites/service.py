"""The use cases of sites, each inside the caller's transaction."""

from typing import Any

import msgspec
from msgspec import UNSET

from stead.control.domains import service as domains
from stead.control.domains.names import normalize_hostname, spell
from stead.control.domains.rules import NewClaim
from stead.control.engines.postgres import Tx
from stead.control.environments import jobs as environment_kinds
from stead.control.environments import service as environments
from stead.control.environments.jobs import EnvironmentWork
from stead.control.exec.jobs import RUN_COMMAND
from stead.control.http.context import ApiContext
from stead.control.http.host_names import InvalidUrl
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Network, Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import Refused
from stead.control.jobs.kinds import Job
from stead.control.jobs.schema import JobView
from stead.control.nodes import service as nodes
from stead.control.outbox.audit import AuditEntry
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner
from stead.control.sealing import Sealer
from stead.control.sites import jobs as kinds
from stead.control.sites import repositories, store
from stead.control.sites.events import SITE_CREATED, SITE_TRANSFERRED
from stead.control.sites.jobs import SiteFacts, SiteWork
from stead.control.sites.rules import (
    DEFAULT_PHP,
    RUNTIME_OF,
    ConfirmDomainMismatch,
    NotRecoverable,
    SiteBusy,
    SiteNotFound,
    SiteStatus,
    TargetNotAdministered,
    VisibleSite,
    may_change,
    statuses_before,
)
from stead.control.sites.schema import Deletion, NewSite, SiteFilter, SiteView, Transfer
from stead.control.sites.slugs import new_slug
from stead.control.teams import service as teams
from stead.control.teams.rules import TeamNotFound
from stead.control.wordpress import service as wordpress
from stead.control.wordpress.schema import NewAdministrator
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


async def browse(tx: Tx, caller: Principal, query: SiteFilter, page: PageRequest) -> Page[SiteView]:
    if query.domain is not None:
        query = msgspec.structs.replace(query, domain=spell(query.domain))
    return await store.page(tx, caller, query, page)


async def browse_team(tx: Tx, caller: Principal, team: TeamId, page: PageRequest) -> Page[SiteView]:
    return await store.page_of_team(tx, caller, team, page)


async def browse_project(tx: Tx, caller: Principal, project: ProjectId, page: PageRequest) -> Page[SiteView]:
    return await store.page_of_project(tx, caller, project, page)


async def set_project(tx: Tx, site: VisibleSite, project: ProjectId | None) -> None:
    await store.set_project(tx, site, project)


async def create(
    tx: Tx, caller: Principal, new: NewSite, context: ApiContext, sealer: Sealer
) -> tuple[SiteView, JobView]:
    _validate(new, context.git_ports, context.git_networks)
    domain = normalize_hostname(new.domain, own_names=context.own_names, param="domain")
    owner = await _resolve_owner(tx, caller, new.team_id)
    await _require_available(tx, caller, new)
    await plans.require_room(tx, owner, "sites")
    is_cms = RUNTIME_OF[new.profile] == "cms"
    if is_cms and caller.mode == "live":
        await plans.require_room(tx, owner, "deleted_sites")
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
    await store.insert(tx, site, account=owner.account_id, mode=caller.mode)
    if is_cms:
        admin = new.admin or NewAdministrator()
        await wordpress.create(tx, sealer, site.id, domain=domain, admin=admin, by=caller.account_id)
    subdomain = f"{site.slug}.{context.preview_domain}"
    env = await environments.create_production(tx, SiteId(site.id), subdomain)
    claim = NewClaim(domain, site.id, env, owner.id, caller.mode, is_primary=True)
    await domains.claim_name(tx, claim, verify=context.verify_domains)
    about = About(account_id=owner.account_id, team_id=owner.team_id, site_id=site.id)
    await publish(tx, SITE_CREATED, about, domain=domain, profile=site.profile)
    subject = jobs.Subject(site.id, owner.id, env_id=env, id=site.id)
    return site, await jobs.enqueue(tx, kinds.DEPLOY, SiteWork(), subject, scope="sites:write")


async def _require_available(tx: Tx, caller: Principal, new: NewSite) -> None:
    runtime = RUNTIME_OF[new.profile]
    if caller.mode == "test":
        # Every node can host a test site: its simulator does.
        await nodes.require_available(tx, new.region, None)
    else:
        builder = runtime if new.profile == "git_managed" else None
        await nodes.require_available(tx, new.region, runtime, builder=builder)


async def restart(tx: Tx, site: VisibleSite) -> JobView:
    if site.status not in ("running", "stopped", "failed"):
        raise SiteBusy(status=site.status)
    if site.status == "failed" and (await environments.get_production(tx, site.id)).node_id is None:
        # Its first deployment failed, so it does not count yet.
        await plans.require_room(tx, Owner(site.account_id, site.team_id), "sites")
    return await jobs.enqueue(tx, kinds.RESTART, SiteWork(), _subject(site), scope="sites:write")


async def delete(tx: Tx, site: VisibleSite, wanted: Deletion, docs_url: str) -> JobView:
    if wanted.confirm_domain != site.domain:
        raise ConfirmDomainMismatch(param="confirm_domain")
    if not may_change(site.status, "deleting"):
        raise SiteBusy(status=site.status)
    reason = await store.get_status_reason(tx, site)
    if not await store.set_status(tx, site.id, "deleting", after=(site.status,)):
        raise SiteBusy(status=site.status)
    await jobs.cancel_unfinished(tx, RUN_COMMAND, _subject(site), docs_url)
    work = await _build_deletion(tx, site.id, site.status, reason)
    return await jobs.enqueue(tx, kinds.DELETE, work, _subject(site), scope="sites:admin")


async def _build_deletion(tx: Tx, site: str, status: SiteStatus, reason: str | None) -> SiteWork:
    production = await environments.get_production(tx, site)
    return SiteWork(status_before=status, reason_before=reason, node=production.node_id)


async def count_of_account(tx: Tx, account: AccountId) -> int:
    """How many sites an account itself has, without deleted ones."""
    return await store.count_of_account(tx, account)


async def delete_of_closed_accounts(tx: Tx) -> int:
    """Queue jobs that delete sites of closed accounts. Returns for how many; there may be more.

    A site with a job is deleted after it.
    """
    found = await store.list_of_closed_accounts(
        tx, await jobs.list_busy_owners(tx), statuses_before("deleting")
    )
    for site in found:
        await store.set_status(tx, site.id, "deleting", after=(site.status,))
        work = await _build_deletion(tx, site.id, site.status, site.status_reason)
        subject = jobs.Subject(site.id, site.account_id)
        await jobs.enqueue(tx, kinds.DELETE, work, subject, scope="sites:admin", by_platform=True)
    return len(found)


async def recover(tx: Tx, site: VisibleSite, *, verify_domains: bool) -> JobView:
    """The site still has its names, unless its owner has used them for another site."""
    if site.status != "deleted" or site.recoverable_until is None or site.recoverable_until <= tx.now:
        raise NotRecoverable
    owner = Owner(site.account_id, site.team_id)
    await plans.require_room(tx, owner, "sites")
    await plans.require_room(tx, owner, "environments", more=await environments.count_restorable(tx, site.id))
    await domains.lock_names(tx, site.id, site.domain)
    if not await store.set_status(tx, site.id, "provisioning", after=("deleted",)):
        raise NotRecoverable
    production = await environments.get_production(tx, site.id)
    if not await domains.has_primary(tx, site.id):
        mode = (await get_facts(tx, site.id)).mode
        claim = NewClaim(site.domain, site.id, production.id, site.owner, mode, is_primary=True)
        await domains.claim_name(tx, claim, verify=verify_domains)
    await domains.resume_checks(tx, site.id)
    # Deleted environments are not announced to the edges, so production must not stay deleted.
    await environments.set_status(tx, production.id, "provisioning")
    work = SiteWork(recoverable_until=site.recoverable_until)
    return await jobs.enqueue(tx, kinds.RECOVER, work, _subject(site), scope="sites:admin")


async def purge_expired(tx: Tx) -> int:
    """Queue jobs that remove deleted sites from their nodes once they can no longer be recovered. Returns for
    how many sites.

    The clones of a site are removed first; production follows when this is called again.
    """
    expired = await store.list_expired(tx, await jobs.list_busy_owners(tx))
    for site, owner in expired:
        clones = [env.id for env in await environments.list_placed(tx, site) if env.type != "production"]
        for env in clones:
            subject = jobs.Subject(site, owner, env_id=env)
            await jobs.enqueue(
                tx,
                environment_kinds.PURGE,
                EnvironmentWork(env),
                subject,
                scope="sites:admin",
                by_platform=True,
            )
        if not clones:
            subject = jobs.Subject(site, owner)
            await jobs.enqueue(tx, kinds.PURGE, SiteWork(), subject, scope="sites:admin", by_platform=True)
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
        await domains.require_no_overlap(tx, site.id, target.team_id or target.account_id or "")
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


async def mark_restored(tx: Tx, site: str) -> None:
    """The site answers again, whatever its status was."""
    await store.set_status(tx, site, "running", after=("failed",))


async def get_facts(tx: Tx, site: str) -> SiteFacts:
    found = await store.get_facts(tx, site)
    if found is None:
        raise Refused(SiteNotFound.code, "The site does not exist any more.")
    return found


async def get_php_version(tx: Tx, site: str) -> str | None:
    """None if the site has no PHP."""
    return await store.get_php_version(tx, site)


async def set_php_version(tx: Tx, site: str, version: str) -> None:
    await store.set_php_version(tx, site, version)


async def publish_job_event(tx: Tx, job: Job[Any], event: EventType, **data: Fact) -> None:
    """Publish an event about a job of a site to the current owner of the site."""
    facts = await get_facts(tx, job.site_id)
    await publish(tx, event, facts.about(job), domain=facts.domain, **data)


def _subject(site: VisibleSite) -> jobs.Subject:
    return jobs.Subject(site.id, site.owner)


def _validate(new: NewSite, git_ports: frozenset[int], git_networks: tuple[Network, ...]) -> None:
    if new.profile == "git_managed" and new.git_repo is None:
        raise FieldInvalid(param="git_repo", reason="A git-managed site needs a repository.")
    if new.git_repo is not None:
        _validate_repository(new.git_repo, git_ports, git_networks)
    if new.git_branch is not None and not is_plain_branch_name(new.git_branch):
        raise FieldInvalid(param="git_branch", reason="It is not a valid branch name.")
    if RUNTIME_OF[new.profile] != "cms":
        if new.php_version is not None:
            raise FieldInvalid(param="php_version", reason=f"A {new.profile} site has no PHP.")
        if new.admin is not None:
            raise FieldInvalid(param="admin", reason=f"A {new.profile} site has no administrator.")


def _validate_repository(url: str, ports: frozenset[int], networks: tuple[Network, ...]) -> None:
    try:
        repository = repositories.parse_url(url)
        repositories.require_allowed_port(repository, ports)
        repositories.require_public_address(repository, networks)
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
