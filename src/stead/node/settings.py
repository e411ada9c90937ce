"""The settings of a node, read once from the environment (`STEAD_…`)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from stead.node.containers.egress_rules import read_host_rules, read_networks
from stead.shared.edge_keys import InvalidEdgeKey, key_from_text

HostAndPort = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9.-]+:[0-9]{1,5}$")]


class SettingsInvalid(Exception):
    """A setting is missing or wrong; the message names the variable."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    node_id: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]{1,63}$")]
    node_data: str
    """The node's directory: journal, environments, releases. The edge must be able to read the last two."""
    nats_url: str
    nats_user: str
    nats_password: str
    edge_address: HostAndPort
    """`host:port` of this node's nginx, for probes."""
    edge_public_address: HostAndPort | Literal[""] = ""
    """`host:port` where the other edges of the region reach it; `edge_address` if empty."""
    edge_ledger: str = ""
    """The file in which nginx records visits; `<data>/run/ledger.json` if empty."""
    edge_key: str = ""
    """The output of `steadctl nodes key REGION`; without it the edge has no certificates."""
    node_region: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]{1,63}$")] = "us-east"
    node_capacity: Annotated[int, msgspec.Meta(ge=0)] = 100
    """How many environments the node accepts; 0 drains it."""
    visits_seconds: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    """How often visits are reported to the control plane."""
    node_commands: Annotated[int, msgspec.Meta(ge=1)] = 16
    """How many commands run at the same time; more wait."""
    images: str = ""
    """The directory of the images that builds run in; that of `steadctl images` if empty."""
    npm_registry: Annotated[str, msgspec.Meta(pattern=r"^https?://[^/@\s]+/\S*$")] = (
        "https://registry.npmjs.org/"
    )
    """Builds may reach it whatever its address is."""
    build_egress: str = ""
    """Further hosts that builds may reach: `host`, `host:port`, `*.host`, comma-separated."""
    build_networks: str = ""
    """Networks that builds may reach although they are not public: `10.0.0.0/8`, `192.0.2.7/32:8080`."""
    build_trust: str = "/etc/ssl/certs/ca-certificates.crt"
    """The certificate authorities that builds trust."""
    build_memory_mb: Annotated[int, msgspec.Meta(ge=64)] = 2048
    build_seconds: Annotated[int, msgspec.Meta(ge=1)] = 1500
    build_disk_mb: Annotated[int, msgspec.Meta(ge=32)] = 4096
    build_pids: Annotated[int, msgspec.Meta(ge=16)] = 512
    build_cpus: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    build_cpu_shares: Annotated[int, msgspec.Meta(ge=2, le=262144)] = 128
    """Everything else on the node has 1024."""
    build_at_once: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 2
    build_cache_mb: Annotated[int, msgspec.Meta(ge=32)] = 1024
    """The size of the cache of one site."""
    build_caches_mb: Annotated[int, msgspec.Meta(ge=32)] = 20480
    """The size of the caches of all sites together."""
    simulator_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """How long each piece of simulated work takes."""
    simulator_fail_at: str = ""
    """Comma-separated kinds of work that the simulator refuses."""

    @property
    def data(self) -> Path:
        return Path(self.node_data)

    @property
    def ledger(self) -> Path:
        return Path(self.edge_ledger) if self.edge_ledger else self.data / "run" / "ledger.json"

    @property
    def peer_address(self) -> str:
        return self.edge_public_address or self.edge_address

    @property
    def certificate_key(self) -> bytes | None:
        return key_from_text(self.edge_key) if self.edge_key else None

    @property
    def simulated_failures(self) -> frozenset[str]:
        return frozenset(kind.strip() for kind in self.simulator_fail_at.split(",") if kind.strip())


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    given = {
        field: environment[variable]
        for field in Settings.__struct_fields__
        if (variable := f"STEAD_{field.upper()}") in environment
    }
    try:
        settings = msgspec.convert(given, Settings, strict=False)
        _ = settings.certificate_key
        _ = read_host_rules(settings.build_egress), read_networks(settings.build_networks)
    except InvalidEdgeKey as error:
        raise SettingsInvalid(f"STEAD_EDGE_KEY: {error}") from None
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"STEAD_* settings: {error}") from None
    except ValueError as error:
        raise SettingsInvalid(f"STEAD_BUILD_EGRESS or STEAD_BUILD_NETWORKS: {error}") from None
    return settings
