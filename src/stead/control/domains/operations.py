"""HTTP operations on domains."""

from stead.control.domains import service
from stead.control.domains.rules import (
    DomainIsPrimary,
    DomainIsWildcard,
    DomainNotFound,
    DomainNotOfProduction,
    DomainNotVerified,
    DomainsExhausted,
    VisibleDomain,
    WildcardNeedsZone,
)
from stead.control.domains.schema import DomainView, NewDomain
from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.rules import DomainTaken, SiteBusy

operation = Operations(tag="Domains")

_ALL = "/v1/sites/{site_id}/environments/{env_id}/domains"
_ONE = f"{_ALL}/{{domain_id}}"
_READ, _WRITE = "domains:read", "domains:write"
_FINDING = [EnvironmentNotFound, DomainNotFound]


@operation(f"GET {_ALL}", id="domains.list", scope=_READ, preview=True, errors=[EnvironmentNotFound])
async def list_domains(call: Call, environment: VisibleEnvironment, page: PageRequest) -> Page[DomainView]:
    """List the domains of an environment, newest first. Its preview host is not listed."""
    return await service.browse(call.tx, environment, page)


@operation(
    f"POST {_ALL}",
    id="domains.attach",
    scope=_WRITE,
    job="domain.attach",
    preview=True,
    errors=[
        EnvironmentNotFound,
        DomainTaken,
        DomainsExhausted,
        WildcardNeedsZone,
        SiteBusy,
        JobsWaiting,
    ],
)
async def attach_domain(call: Call, environment: VisibleEnvironment, body: NewDomain) -> JobView:
    """Attach a domain to an environment.

    The domain is served, and gets a certificate, once it is verified: it points to this platform, or has the
    TXT record in `challenge`. Read the domain to see what is missing. Public suffixes and names of the
    platform are refused.

    `*.example.com` is every name directly below `example.com` that is not attached itself. It needs the DNS
    zone of the domain here, and the TXT record in any case.
    """
    return await service.attach(call.tx, environment, body, call.context)


@operation(f"GET {_ONE}", id="domains.get", scope=_READ, preview=True, errors=_FINDING)
async def get_domain(call: Call, environment: VisibleEnvironment, domain: VisibleDomain) -> DomainView:  # noqa: ARG001 - its parent must be visible too
    """Read a domain: whether it is verified, and otherwise what is missing."""
    return await service.view(call.tx, domain.id)


@operation(
    f"DELETE {_ONE}",
    id="domains.detach",
    destructive="reversible",
    scope=_WRITE,
    preview=True,
    errors=[*_FINDING, DomainIsPrimary, SiteBusy],
)
async def detach_domain(call: Call, environment: VisibleEnvironment, domain: VisibleDomain) -> None:
    """Detach a domain. The edges stop serving it within seconds. The primary domain cannot be detached.

    For 30 days, other accounts need the TXT record to attach the name.
    """
    await service.detach(call.tx, environment, domain)


@operation(f"POST {_ONE}/verify", id="domains.verify", scope=_WRITE, preview=True, errors=_FINDING)
async def verify_domain(call: Call, environment: VisibleEnvironment, domain: VisibleDomain) -> DomainView:  # noqa: ARG001 - its parent must be visible too
    """Look a domain up again now, at most every 10 seconds.

    A worker does so within seconds; read the domain to see the result. Pending domains are also looked up
    automatically, less often with time, for 7 days.
    """
    return await service.request_check(call.tx, domain)


@operation(
    f"POST {_ONE}/primary",
    id="domains.make_primary",
    scope=_WRITE,
    job="domain.attach",
    preview=True,
    errors=[
        *_FINDING,
        DomainNotVerified,
        DomainNotOfProduction,
        DomainIsWildcard,
        SiteBusy,
        JobsWaiting,
    ],
)
async def make_domain_primary(call: Call, environment: VisibleEnvironment, domain: VisibleDomain) -> JobView:
    """Make a verified domain of production the primary one, which is the `domain` of the site.

    The former primary domain stays attached.
    """
    return await service.make_primary(call.tx, environment, domain)
