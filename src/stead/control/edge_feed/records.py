"""From the facts about an environment to the records of the edge. No I/O."""

from dataclasses import dataclass

from stead.control.configuration.rules import Configuration
from stead.protocol import edge
from stead.protocol.edge import Environment, Host, Record, RedirectSet
from stead.shared.runtimes import Runtime

Records = dict[str, Record | None]


@dataclass(frozen=True, slots=True)
class Facts:
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
        """The domain leads to production; every environment has a name of its own besides."""
        return (self.domain, self.subdomain) if self.type == "production" else (self.subdomain,)


def served(
    facts: Facts,
    node: str,
    configuration: Configuration,
    redirects: RedirectSet | None,
    *,
    secure: frozenset[str] = frozenset(),
) -> Records:
    """`secure` are the hosts that have a certificate."""
    security, performance = configuration.security, configuration.performance
    record = Environment(
        site=facts.site_id,
        node=node,
        runtime=facts.runtime,
        state="suspended" if facts.status in ("suspending", "suspended") else "serving",
        release=facts.release or edge.PLACEHOLDER,
        redirects=redirects,
        allowed_ips=tuple(security.allowed_ips),
        waf=security.waf_engine_mode,
        login_lockout=security.login_lockout_enabled and facts.runtime == "cms",
        cache_ttl=performance.page_cache_ttl if facts.runtime == "cms" else 0,
        hsts=security.hsts_seconds if secure else 0,
        trace_sample_rate=configuration.observability.trace_sample_rate,
    )
    hosts: Records = {
        edge.host_key(facts.region, host): Host(facts.id, https=host in secure) for host in facts.hosts
    }
    # A host must not lead to an environment that nobody has heard of.
    return {edge.environment_key(facts.region, facts.id): record, **hosts}


def gone(facts: Facts) -> Records:
    hosts: Records = {edge.host_key(facts.region, host): None for host in facts.hosts}
    return {**hosts, edge.environment_key(facts.region, facts.id): None}
