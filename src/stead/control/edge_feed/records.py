"""Builds the edge records of an environment from what the database says about it. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass

from stead.control.configuration.rules import Configuration, Security, compile_header_settings
from stead.control.deployments.rules import PermanentHosts
from stead.control.domains.rules import ServedName
from stead.protocol import edge_records
from stead.protocol.edge_records import (
    EdgeRecord,
    EnvironmentRecord,
    FunctionRoute,
    HostRecord,
    PartnerRecord,
    ProtectionRecord,
    RedirectSet,
)
from stead.protocol.work.releases import release_of
from stead.shared.runtimes import Runtime

NO_PERMANENT_HOSTS = PermanentHosts([], [])
Records = dict[str, EdgeRecord | None]
"""Edge records by key, in the order in which edges must apply them; None deletes a record."""


@dataclass(frozen=True, slots=True)
class RecordSource:
    """The columns of an environment and its site that its edge records are built from."""

    id: str
    site_id: str
    type: str
    subdomain: str
    status: str
    region: str
    runtime: Runtime
    mode: str
    node_id: str | None
    release: str | None
    quarantined: Sequence[str] = ()
    """The paths of the newest files in quarantine, below the site."""


def list_hosts(source: RecordSource, names: Sequence[ServedName]) -> list[ServedName]:
    """The verified names of an environment, and its preview host."""
    return [*names, ServedName(source.subdomain)]


def build_records(
    source: RecordSource,
    node: str,
    configuration: Configuration,
    redirects: RedirectSet | None,
    *,
    names: Sequence[ServedName] = (),
    secure: frozenset[str] = frozenset(),
    permanent: PermanentHosts = NO_PERMANENT_HOSTS,
    functions: tuple[FunctionRoute, ...] = (),
) -> Records:
    """Build the records of an environment that is served. `secure` lists the hosts with a certificate."""
    security, performance = configuration.security, configuration.performance
    record = EnvironmentRecord(
        site=source.site_id,
        node=node,
        runtime=source.runtime,
        state="suspended" if source.status in ("suspending", "suspended") else "serving",
        release=source.release or edge_records.PLACEHOLDER,
        redirects=redirects,
        allowed_ips=tuple(security.allowed_ips),
        waf=security.waf_engine_mode,
        login_lockout=security.login_lockout_enabled and source.runtime == "cms",
        cache_ttl=performance.page_cache_ttl if source.runtime == "cms" else 0,
        hot_pages=performance.hot_page_count if source.runtime == "cms" else 0,
        hot_ttl=performance.hot_ttl_seconds,
        hot_interval=performance.hot_refresh_interval_seconds,
        ip_reputation=security.ip_reputation_enabled,
        partner=_partner(security),
        hsts=security.hsts_seconds if secure else 0,
        trace_sample_rate=configuration.observability.trace_sample_rate,
        functions=functions if source.type == "production" else (),
        noindex=source.type != "production",
        protection=_protection(security, everywhere=source.type != "production"),
        headers=compile_header_settings(configuration.serving.headers),
        quarantined=tuple(f"/{path}" for path in source.quarantined if "\\" not in path),
    )
    hosts: Records = {
        edge_records.host_key(source.region, host.hostname): HostRecord(
            source.id, https=host.hostname in secure, redirect_to=host.redirect_to
        )
        for host in list_hosts(source, names)
    }
    # The environment comes first: a host must not refer to an environment that the edge does not know.
    return {
        edge_records.environment_key(source.region, source.id): record,
        **hosts,
        **_build_permanent_hosts(source, permanent),
    }


def _build_permanent_hosts(source: RecordSource, permanent: PermanentHosts) -> Records:
    served: Records = {
        edge_records.host_key(source.region, each.host): HostRecord(
            source.id, release=release_of(each.digest)
        )
        for each in permanent.served
    }
    ended: Records = {edge_records.host_key(source.region, each.host): None for each in permanent.ended}
    return {**served, **ended}


def _partner(security: Security) -> PartnerRecord | None:
    client, digest = security.waf_partner_client_id, security.waf_partner_secret_digest
    return PartnerRecord(client, digest) if client and digest else None


def _protection(security: Security, *, everywhere: bool) -> ProtectionRecord | None:
    mode = security.preview_protection
    if mode == "password":
        # Without a digest, which the API does not allow, nobody can enter.
        iterations, salt, digest = (security.preview_password_digest or "0 - -").split()
        return ProtectionRecord(mode, everywhere, iterations=int(iterations), salt=salt, digest=digest)
    if mode == "team":
        return ProtectionRecord(
            mode,
            everywhere,
            public_key=security.preview_sign_in_public_key or "",
            sign_in=security.preview_sign_in_url or "",
        )
    return None


def build_deletions(
    source: RecordSource, names: Sequence[ServedName], permanent: PermanentHosts = NO_PERMANENT_HOSTS
) -> Records:
    """Delete the hosts first, so that none refers to an environment that is already deleted."""
    hostnames = [host.hostname for host in list_hosts(source, names)]
    hostnames += [each.host for each in permanent.all]
    hosts: Records = {edge_records.host_key(source.region, host): None for host in hostnames}
    return {**hosts, edge_records.environment_key(source.region, source.id): None}
