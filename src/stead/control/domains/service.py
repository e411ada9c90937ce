"""The use cases of domains, each inside the caller's transaction."""

import secrets
from collections.abc import Sequence
from math import ceil

from stead.control.certificates import service as certificates
from stead.control.certificates.schema import TlsView
from stead.control.domains import store, wildcards
from stead.control.domains.events import (
    DOMAIN_ATTACH_FAILED,
    DOMAIN_ATTACHED,
    DOMAIN_DETACHED,
    DOMAIN_FAILED,
    DOMAIN_PRIMARY_CHANGED,
    DOMAIN_VERIFIED,
)
from stead.control.domains.jobs import ATTACH, MAKE_PRIMARY, AttachWork, PrimaryWork
from stead.control.domains.names import (
    get_base,
    get_www_sibling,
    is_wildcard,
    list_parents,
    list_wildcards_above,
    normalize_hostname,
    normalize_name,
)
from stead.control.domains.rules import (
    MAX_DOMAINS,
    VERIFY_INTERVAL,
    Claim,
    DomainIsPrimary,
    DomainIsWildcard,
    DomainNotFound,
    DomainNotOfProduction,
    DomainNotVerified,
    DomainsExhausted,
    DomainsOverlap,
    NewClaim,
    ServedName,
    VisibleDomain,
)
from stead.control.domains.schema import DomainView, NewDomain, build_challenge
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.context import ApiContext
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs import service as jobs
from stead.control.jobs.schema import JobView
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.sites.rules import DomainTaken, SiteBusy, require_changeable
from stead.shared.errors import FieldInvalid, RateLimitExceeded
from stead.shared.ids import has_shape, new_id

SCOPE = "domains:write"
TAKEN_MEANWHILE = "Another account has proved that it has this name."


async def visible_domain(call: Call, environment: VisibleEnvironment, domain_id: str) -> VisibleDomain:
    found = await store.find(call.tx, environment, domain_id) if has_shape("dom", domain_id) else None
    if found is None:
        raise DomainNotFound
    return found


async def browse(tx: Tx, env: VisibleEnvironment, request: PageRequest) -> Page[DomainView]:
    found = await store.page(tx, env, request)
    states = await certificates.get_statuses(tx, env.site_id, [row.hostname for row in found.items])
    return Page([_build_view(row, states[row.hostname]) for row in found.items], found.next_cursor)


async def view(tx: Tx, domain: str) -> DomainView:
    row = await store.get_row(tx, domain)
    if row is None:
        raise DomainNotFound
    return _build_view(row, await certificates.get_status(tx, row.site_id, row.hostname))


async def attach(tx: Tx, env: VisibleEnvironment, new: NewDomain, context: ApiContext) -> JobView:
    require_changeable(env.site_status, env.status)
    if env.type != "production" and (new.redirect_to_primary or new.include_www):
        raise FieldInvalid(
            param="redirect_to_primary" if new.redirect_to_primary else "include_www",
            reason="Only domains of the production environment can redirect to the primary domain.",
        )
    hostname = normalize_name(new.hostname, own_names=context.own_names)
    mode = (await environments.get_site_owner(tx, env.site_id)).mode
    if is_wildcard(hostname):
        if new.include_www:
            raise FieldInvalid(
                param="include_www", reason="A wildcard includes the name with `www.` already."
            )
        await wildcards.require_zone(tx, env.site_id, hostname, mode, context)
    wanted = {hostname: new.redirect_to_primary}
    if new.include_www:
        wanted[normalize_hostname(get_www_sibling(hostname), own_names=context.own_names)] = True
    if await store.count_of_site(tx, env.site_id) + len(wanted) > MAX_DOMAINS:
        raise DomainsExhausted(limit=MAX_DOMAINS)
    await store.lock_hostnames(tx, wanted)
    made: dict[str, str] = {}
    for name in wanted:
        claim = NewClaim(name, env.site_id, env.id, env.owner, mode, redirect_to_primary=wanted[name])
        made[name] = await claim_name(tx, claim, verify=context.verify_domains)
    work = AttachWork(env.id, [made[name] for name in wanted])
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id, id=made[hostname])
    return await jobs.enqueue(tx, ATTACH, work, subject, scope=SCOPE)


async def claim_name(tx: Tx, claim: NewClaim, *, verify: bool) -> str:
    """Add a name to an environment, and return the id of the domain.

    Test mode has names of its own, which are simulated and verified at once. A name is refused if somebody
    has it, or if another owner has a wildcard above it or names below it. Several owners may claim a name
    that nobody has: the first one to prove it gets it, so that nobody can keep a name from its owner by
    claiming it first.
    """
    await store.lock_hostnames(tx, [claim.hostname])
    await store.release_expired(tx, claim.hostname)
    at_once = claim.mode == "test" or not verify
    for rival in await store.list_rivals(tx, claim.hostname, claim.mode):
        is_own = rival.owner == claim.owner
        if rival.is_released:
            at_once = False  # The edges still have its record; a worker removes it first.
        elif is_own and rival.of_deleted_site and rival.site_id != claim.site_id:
            await store.delete(tx, rival.id)
        elif is_own or rival.is_verified:
            raise DomainTaken(domain=claim.hostname)
    if await store.overlaps_another(tx, claim.hostname, claim.owner, claim.mode):
        raise DomainTaken(domain=claim.hostname)
    # A wildcard is proved at its base, so one record proves both if the site has the base too.
    base = get_base(claim.hostname)
    known = await store.find_challenge(tx, claim.site_id, base) if base != claim.hostname else None
    domain = new_id("dom")
    await store.insert(tx, domain, claim, known or f"stead-{secrets.token_hex(16)}", verified=at_once)
    return domain


async def lock_names(tx: Tx, site: str, domain: str) -> None:
    """Nobody else can claim the names of a site, or its former domain, before the transaction ends."""
    await store.lock_hostnames(tx, {domain, *await store.list_hostnames(tx, site)})


async def require_no_overlap(tx: Tx, site: str, owner: str) -> None:
    """Before a site changes its owner: none of its names may be below a wildcard of somebody else, and none
    of its wildcards above the name of somebody else."""
    claims = await store.list_claims_of_site(tx, site)
    await store.lock_hostnames(tx, {claim.hostname for claim in claims})
    for claim in claims:
        if claim.status == "verified" and await store.overlaps_another(
            tx, claim.hostname, owner, claim.mode, besides=site
        ):
            raise DomainsOverlap


async def has_primary(tx: Tx, site: str) -> bool:
    return await store.get_primary(tx, site) is not None


async def request_check(tx: Tx, domain: VisibleDomain) -> DomainView:
    """Have a worker look the name up again. The request itself does not wait for name servers."""
    if domain.status != "verified":
        if domain.requested_at is not None and tx.now < domain.requested_at + VERIFY_INTERVAL:
            rest = domain.requested_at + VERIFY_INTERVAL - tx.now
            raise RateLimitExceeded(seconds=max(1, ceil(rest.total_seconds())))
        await store.request_check(tx, domain.id)
    return await view(tx, domain.id)


async def make_primary(tx: Tx, env: VisibleEnvironment, domain: VisibleDomain) -> JobView:
    require_changeable(env.site_status, env.status)
    if env.type != "production":
        raise DomainNotOfProduction(hostname=domain.hostname)
    if is_wildcard(domain.hostname):
        raise DomainIsWildcard(hostname=domain.hostname)
    if domain.status != "verified":
        raise DomainNotVerified(hostname=domain.hostname)
    previous = await store.get_primary(tx, env.site_id)
    work = PrimaryWork(domain.id, previous.id if previous else domain.id)
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id, id=domain.id)
    return await jobs.enqueue(tx, MAKE_PRIMARY, work, subject, scope=SCOPE)


async def detach(tx: Tx, env: VisibleEnvironment, domain: VisibleDomain) -> None:
    if domain.is_primary:
        raise DomainIsPrimary(hostname=domain.hostname)
    if await jobs.is_busy(tx, env.site_id):
        # Its announcement could have been built before this, and be published after.
        raise SiteBusy(status=env.site_status)
    claim = await store.get_claim(tx, domain.id)
    if claim is None:
        raise DomainNotFound
    await release(tx, claim, withdraw=True)
    await publish_event(tx, DOMAIN_DETACHED, claim)


async def release(tx: Tx, claim: Claim, *, withdraw: bool) -> None:
    """Give a name up. `withdraw`: the edges serve it, so a worker has to remove it from them."""
    if claim.status != "verified" or claim.mode == "test":
        await store.delete(tx, claim.id)
        return
    await store.release(tx, claim, withdraw=withdraw)
    await certificates.remove_certificate(tx, claim.hostname)


async def release_environment(tx: Tx, env: str) -> None:
    """Give up the names of an environment that was destroyed. The edges no longer serve it."""
    for claim in await store.list_claims_of_environment(tx, env):
        await release(tx, claim, withdraw=False)


async def release_site(tx: Tx, site: str) -> None:
    """Give up the names of a site that can no longer be recovered."""
    for claim in await store.list_claims_of_site(tx, site):
        await release(tx, claim, withdraw=False)


async def stop_checks(tx: Tx, site: str) -> None:
    """Do not look pending names of a deleted site up: many of them would be in the way of others."""
    await store.schedule_checks(tx, site, None)


async def resume_checks(tx: Tx, site: str) -> None:
    """Look pending names of a recovered site up again."""
    await store.schedule_checks(tx, site, tx.now)


async def remove_certificates(tx: Tx, site: str) -> None:
    """For a site that was deleted. It keeps its names."""
    for claim in await store.list_claims_of_site(tx, site):
        if claim.status == "verified" and claim.mode == "live":
            await certificates.remove_certificate(tx, claim.hostname)


async def request_certificates(tx: Tx, site: str) -> None:
    """Request a certificate for every verified name of a site."""
    for claim in await store.list_claims_of_site(tx, site):
        await _request_certificate(tx, claim)


async def list_served(tx: Tx, env: str) -> list[ServedName]:
    """The names under which the edges serve an environment: verified ones only."""
    return await store.list_served(tx, env)


async def list_served_hosts(tx: Tx, env: str) -> list[str]:
    """Without wildcards, which are no hosts."""
    return [name.hostname for name in await list_served(tx, env) if not is_wildcard(name.hostname)]


async def list_hostnames(tx: Tx, site: str) -> list[str]:
    """All names of a site, verified or not."""
    return await store.list_hostnames(tx, site)


async def choose_host(tx: Tx, env: str, otherwise: str) -> str:
    """The host at which visitors reach an environment: a verified name that does not redirect, if any."""
    served = await list_served(tx, env)
    hosts = (name.hostname for name in served if not name.redirect_to and not is_wildcard(name.hostname))
    return next(hosts, otherwise)


async def list_claims(tx: Tx, domains: Sequence[str]) -> list[Claim]:
    return await store.list_claims(tx, domains)


async def set_primary(tx: Tx, site: str, domain: str) -> str | None:
    return await store.set_primary(tx, site, domain)


async def complete_attachment(tx: Tx, domains: Sequence[str], job: str) -> None:
    for claim in await store.list_claims(tx, domains):
        await _request_certificate(tx, claim)
        await publish_event(tx, DOMAIN_ATTACHED, claim, job)


async def abandon_attachment(tx: Tx, domains: Sequence[str], reason: str, job: str) -> None:
    """The job that attaches the names has failed."""
    for claim in await store.list_claims(tx, domains):
        await release(tx, claim, withdraw=True)
        await publish_event(tx, DOMAIN_ATTACH_FAILED, claim, job, reason=reason)


async def publish_primary(tx: Tx, domain: str, job: str) -> None:
    claim = await store.get_claim(tx, domain)
    if claim is not None:
        await publish_event(tx, DOMAIN_PRIMARY_CHANGED, claim, job)


async def explain_challenge(tx: Tx, claim: Claim) -> str | None:
    """Why only a TXT record proves a name; None if it is enough that the name points here."""
    if await store.belonged_to_another(tx, [claim.hostname], claim.owner):
        return "it belonged to another account in the last 30 days"
    if is_wildcard(claim.hostname):
        return "it is a wildcard"
    above = [*list_parents(claim.hostname), *list_wildcards_above(claim.hostname)]
    if await store.belonged_to_another(tx, above, claim.owner):
        return "a domain above it belongs to another account"
    rivals = await store.list_rivals(tx, claim.hostname, claim.mode, besides=claim.id)
    if any(rival.owner != claim.owner for rival in rivals):
        return "another account claims it too"
    return None


async def complete_verification(tx: Tx, domain: str, *, by_record: bool) -> Claim | None:
    """Record that a name is proved, by its TXT record or because it points here. Returns None if the name is
    not pending any more, cannot be had now, or has come to need the record during the look-up."""
    claim = await store.get_claim(tx, domain)
    if claim is None or claim.is_released:
        return None
    await store.lock_hostnames(tx, [claim.hostname])
    await store.release_expired(tx, claim.hostname)
    claim = await store.get_claim(tx, domain)
    if claim is None or claim.status != "pending":
        return None
    rivals = await store.list_rivals(tx, claim.hostname, claim.mode, besides=claim.id)
    if any(rival.is_released for rival in rivals):
        return None
    if not by_record and await explain_challenge(tx, claim) is not None:
        return None
    if any(rival.is_verified for rival in rivals) or await store.overlaps_another(
        tx, claim.hostname, claim.owner, claim.mode
    ):
        await fail(tx, claim, TAKEN_MEANWHILE)
        return None
    for rival in rivals:
        other = await store.get_claim(tx, rival.id)
        if other is not None and other.status == "pending":
            await fail(tx, other, TAKEN_MEANWHILE)
    await store.mark_verified(tx, domain, by_record=by_record)
    verified = await store.get_claim(tx, domain)
    if verified is not None:
        await _request_certificate(tx, verified)
        await publish_event(tx, DOMAIN_VERIFIED, verified)
    return verified


async def record_proof(tx: Tx, domain: str) -> None:
    """The TXT record of a verified name was found."""
    await store.mark_proved(tx, domain)


async def fail(tx: Tx, claim: Claim, reason: str) -> None:
    await store.mark_failed(tx, claim.id, reason)
    await publish_event(tx, DOMAIN_FAILED, claim, reason=reason)


async def publish_event(tx: Tx, event: EventType, claim: Claim, job: str | None = None, **data: Fact) -> None:
    owner = await environments.get_site_owner(tx, claim.site_id)
    about = About(
        account_id=owner.account_id,
        team_id=owner.team_id,
        site_id=claim.site_id,
        env_id=claim.env_id,
        job_id=job,
    )
    await publish(tx, event, about, domain=owner.domain, hostname=claim.hostname, **data)


async def _request_certificate(tx: Tx, claim: Claim) -> None:
    if claim.status == "verified" and claim.mode == "live":
        await certificates.request_certificate(tx, claim.site_id, claim.hostname, claim.region)


def _build_view(row: store.DomainRow, tls: TlsView) -> DomainView:
    is_verified = row.status == "verified"
    return DomainView(
        id=row.id,
        hostname=row.hostname,
        primary=row.is_primary,
        redirect_to_primary=row.redirect_to_primary,
        status=row.status,
        reason=None if is_verified else row.reason,
        challenge=None
        if is_verified and row.proved_by_record
        else build_challenge(row.hostname, row.challenge),
        tls=tls,
        created_at=row.created_at,
    )
