"""Builds the edge records of an environment from what the database says about it. No I/O."""

from dataclasses import dataclass

from stead.control.configuration.rules import Configuration
from stead.protocol import edge_records
from stead.protocol.edge_records import EdgeRecord, EnvironmentRecord, HostRecord, RedirectSet
from stead.shared.runtimes import Runtime

Records = dict[str, EdgeRecord | None]
"""Edge records by key, in the order in which edges must apply them; None deletes a record."""


@dataclass(frozen=True, slots=True)
class RecordSource:
    """The columns of an environment and its site that its edge records are built from."""

    id: str
    site_id: str
    type: str
    domain: str
    subdomain: str
    status: str
    region: str
    runtime: Runtime
    mode: str
    node_id: str | None
    release: str | None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every environment has its own subdomain; production also has the site's domain."""
        return (self.domain, self.subdomain) if self.type == "production" else (self.subdomain,)


def build_records(
    source: RecordSource,
    node: str,
    configuration: Configuration,
    redirects: RedirectSet | None,
    *,
    secure: frozenset[str] = frozenset(),
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
        hsts=security.hsts_seconds if secure else 0,
        trace_sample_rate=configuration.observability.trace_sample_rate,
    )
    hosts: Records = {
        edge_records.host_key(source.region, host): HostRecord(source.id, https=host in secure)
        for host in source.hosts
    }
    # The environment comes first: a host must not refer to an environment that the edge does not know.
    return {edge_records.environment_key(source.region, source.id): record, **hosts}


def build_deletions(source: RecordSource) -> Records:
    """Delete the hosts first, so that none refers to an environment that is already deleted."""
    hosts: Records = {edge_records.host_key(source.region, host): None for host in source.hosts}
    return {**hosts, edge_records.environment_key(source.region, source.id): None}
