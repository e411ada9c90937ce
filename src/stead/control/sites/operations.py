"""HTTP operations on sites."""

from stead.control.certificates import service as certificates
from stead.control.certificates.schema import TlsView
from stead.control.domains.rules import DomainsOverlap
from stead.control.functions import service as functions
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.nodes import service as nodes
from stead.control.nodes.rules import RegionUnavailable, RuntimeUnavailable
from stead.control.outbox import audit
from stead.control.plans.rules import DeletedSitesExhausted, EnvironmentsExhausted, SitesExhausted
from stead.control.sites import service
from stead.control.sites.capabilities import CAPABILITIES
from stead.control.sites.rules import (
    ConfirmDomainMismatch,
    DomainTaken,
    NotRecoverable,
    SiteBusy,
    SiteNotFound,
    TargetNotAdministered,
    VisibleSite,
)
from stead.control.sites.schema import (
    CapabilitiesView,
    Deletion,
    NewSite,
    RuntimesView,
    SiteFilter,
    SiteView,
    Transfer,
    TransferredView,
    runtimes_view,
)
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.errors import AccountNotFound
from stead.shared.roles import Role

operation = Operations(tag="Sites")


@operation("GET /v1/sites", id="sites.list", scope="sites:read")
async def list_sites(call: Call, query: SiteFilter, page: PageRequest) -> Page[SiteView]:
    """List the sites you can see, newest first. Deleted sites only with `status=deleted`."""
    return await service.browse(call.tx, call.caller, query, page)


@operation(
    "POST /v1/sites",
    id="sites.create",
    scope="sites:write",
    test_keys=True,
    job="deployment.deploy",
    creates="sites.get",
    errors=[
        *(DomainTaken, RegionUnavailable, RuntimeUnavailable, JobsWaiting),
        *(SitesExhausted, DeletedSitesExhausted),
        *(TeamNotFound, TargetNotAdministered, AccountNotFound),
    ],
)
async def create_site(call: Call, body: NewSite) -> JobView:
    """Create a site. When the job has succeeded, the site answers at its preview host.

    It answers at its domain, and gets a certificate for it, once the domain is verified: it points to this
    platform, or has the TXT record in `challenge` of the site.
    The profile cannot be changed later. A site that is created with a test key is simulated.
    """
    site, job = await service.create(call.tx, call.caller, body, call.context, call.sealer)
    call.audit.team_id, call.audit.site_id = site.team_id, site.id
    return job


@operation("GET /v1/sites/{site_id}", id="sites.get", scope="sites:read", errors=[SiteNotFound])
async def get_site(call: Call, site: VisibleSite) -> SiteView:
    """Read a site."""
    return await service.view(call.tx, site)


@operation(
    "DELETE /v1/sites/{site_id}",
    id="sites.delete",
    recent_sign_in=True,
    scope="sites:admin",
    job="site.delete",
    destructive="reversible",
    errors=[SiteNotFound, SiteBusy, ConfirmDomainMismatch, JobsWaiting],
)
async def delete_site(call: Call, site: VisibleSite, body: Deletion) -> JobView:
    """Delete a site. It can be recovered, and keeps its domains, for 30 days.

    Commands that are queued or running in its environments are cancelled.
    """
    return await service.delete(call.tx, site, body, call.context.docs_url)


@operation(
    "POST /v1/sites/{site_id}/recover",
    id="sites.recover",
    scope="sites:admin",
    job="site.restart",
    errors=[SiteNotFound, NotRecoverable, DomainTaken, SitesExhausted, EnvironmentsExhausted, JobsWaiting],
)
async def recover_site(call: Call, site: VisibleSite) -> JobView:
    """Recover a deleted site."""
    return await service.recover(call.tx, site, verify_domains=call.context.verify_domains)


@operation(
    "POST /v1/sites/{site_id}/restart",
    id="sites.restart",
    scope="sites:write",
    job="site.restart",
    errors=[SiteNotFound, SiteBusy, SitesExhausted, JobsWaiting],
)
async def restart_site(call: Call, site: VisibleSite) -> JobView:
    """Restart a site and check that it answers."""
    return await service.restart(call.tx, site)


@operation(
    "POST /v1/sites/{site_id}/transfer",
    id="sites.transfer",
    recent_sign_in=True,
    scope="sites:admin",
    errors=[
        *(SiteNotFound, SiteBusy, TeamNotFound, TargetNotAdministered, AccountNotFound),
        *(SitesExhausted, EnvironmentsExhausted, DomainsOverlap),
    ],
)
async def transfer_site(call: Call, site: VisibleSite, body: Transfer) -> TransferredView:
    """Transfer a site to a team that you own or administer, or to your own account.

    Its secrets and variables go along. The token of its forge does not: the new owner sets another one.
    """
    target = await service.transfer(call.tx, call.caller, site, body, call.audit)
    if target.team_id != site.team_id:
        entry = audit.AuditEntry(call.audit.actor, target.team_id, site.id, call.audit.meta)
        await audit.record(call.tx, "site_transfer", "success", entry)
    return TransferredView(site.id, functions_transferred=await functions.count(call.tx, site.id))


@operation(
    "GET /v1/sites/{site_id}/capabilities",
    id="capabilities.get",
    scope="sites:read",
    errors=[SiteNotFound],
)
async def get_capabilities(call: Call, site: VisibleSite) -> CapabilitiesView:  # noqa: ARG001 - handlers receive the call
    """List the capabilities of a site, which depend on its runtime."""
    return CapabilitiesView(site.runtime, CAPABILITIES[site.runtime])


@operation("GET /v1/sites/{site_id}/tls", id="sites.tls_get", scope="tls:read", errors=[SiteNotFound])
async def get_tls(call: Call, site: VisibleSite) -> TlsView:
    """Read the state of the certificate for the domain of a site."""
    return await certificates.get_status(call.tx, site.id, site.domain)


@operation("GET /v1/runtimes", id="runtimes.list", scope="sites:read")
async def list_runtimes(call: Call) -> RuntimesView:
    """List all runtimes, including planned ones, with the capabilities of their sites."""
    return runtimes_view(await nodes.list_available_runtimes(call.tx))


@operation(
    "GET /v1/teams/{team_id}/sites",
    id="teams.sites",
    scope="teams:read",
    role=Role.OBSERVER,
    errors=[TeamNotFound],
)
async def list_team_sites(call: Call, team: VisibleTeam, page: PageRequest) -> Page[SiteView]:
    """List the sites that a team owns."""
    return await service.browse_team(call.tx, call.caller, team.id, page)
