"""The settings of a node, read once from the environment (`STEAD_…`)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from stead.node.containers.egress_rules import read_host_rules, read_networks, read_plain_networks
from stead.node.containers.limits import GATEWAY_UID
from stead.node.disk_space import MIN_FREE_MB
from stead.protocol import sealed_work
from stead.protocol.sealed_work import InvalidNodeKey
from stead.shared.edge_keys import InvalidEdgeKey, keys_from_text

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
    """The output of `steadctl nodes key REGION`; without it the edge has no certificates. Several keys are
    separated by commas: the first one signs, all of them are accepted."""
    node_key: str = ""
    """The private key of the node: base64 of 32 random bytes. Its public key is part of the enrolment.
    Without it the node refuses all work that contains secrets."""
    node_region: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]{1,63}$")] = "us-east"
    node_capacity: Annotated[int, msgspec.Meta(ge=0)] = 100
    """How many environments the node accepts; 0 drains it."""
    visits_seconds: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    """How often visits are reported to the control plane."""
    telemetry_seconds: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    """How often what the edge has recorded is sent to the control plane."""
    listed_networks: Annotated[str, msgspec.Meta(pattern=r"^(/|https://)\S+$|^$")] = ""
    """A file or an https address with networks that send attacks, one per line. Sites with
    `ip_reputation_enabled` refuse visitors from them."""
    listed_networks_seconds: Annotated[float, msgspec.Meta(ge=1)] = 3600.0
    """How often that list is read again."""
    node_min_free_mb: Annotated[int, msgspec.Meta(ge=0)] = MIN_FREE_MB
    """With less free disk space the node accepts no releases and builds."""
    node_health_host: str = "127.0.0.1"
    """The address that health checks and metrics are served on."""
    node_health_port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    """The port of `/healthz`, `/readyz` and `/metrics`; none if 0."""
    node_commands: Annotated[int, msgspec.Meta(ge=1)] = 16
    """How many commands run at the same time; more wait."""
    images: str = ""
    """The directory of the images that builds and sites run in; that of `steadctl images` if empty."""
    images_on_demand: bool = False
    """Whether an image that is missing is made when the first site needs it. The job waits for minutes."""
    mariadb_socket: str = ""
    """The socket of the MariaDB server of this node; the agent runs one in `<data>/mariadb` if empty."""
    npm_registry: Annotated[str, msgspec.Meta(pattern=r"^https?://[^/@\s]+/\S*$")] = (
        "https://registry.npmjs.org/"
    )
    """Builds may reach it whatever its address is."""
    python_index: Annotated[str, msgspec.Meta(pattern=r"^https?://[^/@\s]+/\S*$")] = (
        "https://pypi.org/simple/"
    )
    """Builds with Python install packages from it, and may reach it whatever its address is."""
    python_files: str = "files.pythonhosted.org"
    """The hosts that the index names for the files of packages. Written like `build_egress`; only builds with
    Python reach them, whatever their address is."""
    build_egress: str = ""
    """Further hosts that builds may reach: `host`, `host:port`, `*.host`, comma-separated."""
    composer_hosts: str = (
        "repo.packagist.org,packagist.org,wpackagist.org,downloads.wordpress.org,"
        "github.com,api.github.com,codeload.github.com"
    )
    """Where Composer may download packages. Written like `build_egress`; only builds that run Composer reach
    them."""
    build_networks: str = ""
    """Networks that builds may reach although they are not public: `10.0.0.0/8`, `192.0.2.7/32:8080`."""
    platform_networks: str = ""
    """The addresses and networks of the control plane, its engines and all nodes, which builds never reach:
    `10.1.0.0/16, 203.0.113.7`. The node knows its own addresses, those of NATS and of other edges."""
    build_trust: str = "/etc/ssl/certs/ca-certificates.crt"
    """The certificate authorities that builds trust."""
    build_memory_mb: Annotated[int, msgspec.Meta(ge=64)] = 2048
    build_seconds: Annotated[int, msgspec.Meta(ge=1)] = 1500
    build_disk_mb: Annotated[int, msgspec.Meta(ge=32)] = 4096
    build_pids: Annotated[int, msgspec.Meta(ge=16)] = 512
    build_cpus: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    build_cpu_shares: Annotated[int, msgspec.Meta(ge=2, le=262144)] = 128
    """Everything else on the node has 1024."""
    build_io_weight: Annotated[int, msgspec.Meta(ge=10, le=1000)] = 50
    """The share of a busy disk; everything else on the node has 500. Used where the kernel has weights."""
    build_at_once: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 2
    build_cache_mb: Annotated[int, msgspec.Meta(ge=32)] = 1024
    """The size of the cache of one site."""
    build_caches_mb: Annotated[int, msgspec.Meta(ge=32)] = 20480
    """The size of the caches of all sites together."""
    component_registry: Annotated[str, msgspec.Meta(pattern=r"^https://[^/@\s]+\Z")] = (
        "https://api.wordpress.org"
    )
    """Where plugins and themes are looked up. A mirror must speak the same protocol."""
    component_hosts: str = "downloads.wordpress.org"
    """The hosts that archives of plugins and themes may come from, besides that of the registry."""
    component_trust: str = "/etc/ssl/certs/ca-certificates.crt"
    """The certificate authorities that are trusted for both."""
    keep_sites_running: bool = True
    """Whether WordPress environments go on while no agent runs. Otherwise they end with it, as in a
    development stack."""
    idle_seconds: Annotated[float, msgspec.Meta(ge=1)] = 900.0
    """After this time without a request a WordPress environment sleeps. The next request wakes it."""
    sites_memory_mb: Annotated[int, msgspec.Meta(ge=0)] = 0
    """How much memory WordPress environments that are awake may use together; three quarters of the machine's
    memory if 0. Each counts with a quarter of its limit."""
    disk_overcommit: Annotated[float, msgspec.Meta(ge=1, le=100)] = 4.0
    """How much more disk space may be promised to WordPress environments than there is."""
    functions_memory_mb: Annotated[int, msgspec.Meta(ge=0)] = 0
    """How much memory all functions may use together; a quarter of the machine's memory if 0."""
    functions_workers: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 256
    """How many processes of functions may run at the same time. Idle ones end for others."""
    functions_networks: str = ""
    """Networks that functions may reach although they are not public. Written like `build_networks`."""
    site_mail_relay: Annotated[str, msgspec.Meta(pattern=r"^$|^(smtp|smtps|smtp\+plaintext)://[^/\s]+$")] = ""
    """The SMTP server that sends the mail of WordPress sites: `smtp://user:password@host:587` (STARTTLS is
    required) or `smtps://…`. `smtp+plaintext://` sends everything unencrypted. Without it `mail()` fails."""
    site_mail_sender: Annotated[str, msgspec.Meta(pattern=r"^$|^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+$")] = ""
    """The address that bounces of this mail go to, with `+<environment>` before the `@`. Required with a
    relay."""
    site_mail_per_hour: Annotated[int, msgspec.Meta(ge=0)] = 200
    """To how many recipients a site may send within an hour."""
    signatures: Annotated[str, msgspec.Meta(pattern=r"^$|^/\S+$")] = ""
    """A directory with further signatures of ClamAV and rules of YARA (`*.yar`), for scans of sites."""
    ssh_uid: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = 0
    """The user of the SSH gateway, which may ask for sessions; one that owns nothing if 0."""
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
    def certificate_keys(self) -> tuple[bytes, ...]:
        return keys_from_text(self.edge_key) if self.edge_key else ()

    @property
    def private_key(self) -> bytes | None:
        return sealed_work.key_from_text(self.node_key) if self.node_key else None

    @property
    def gateway_uid(self) -> int:
        return self.ssh_uid or GATEWAY_UID

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
        _ = settings.certificate_keys, settings.private_key
        _ = read_host_rules(settings.build_egress), read_networks(settings.build_networks)
        _ = read_networks(settings.functions_networks)
        _ = read_host_rules(settings.composer_hosts), read_host_rules(settings.python_files)
        _ = read_plain_networks(settings.platform_networks)
    except InvalidEdgeKey as error:
        raise SettingsInvalid(f"STEAD_EDGE_KEY: {error}") from None
    except InvalidNodeKey as error:
        raise SettingsInvalid(f"STEAD_NODE_KEY: {error}") from None
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"STEAD_* settings: {error}") from None
    except ValueError as error:
        variables = (
            "STEAD_BUILD_EGRESS, STEAD_COMPOSER_HOSTS, STEAD_BUILD_NETWORKS or STEAD_PLATFORM_NETWORKS"
        )
        raise SettingsInvalid(f"{variables}: {error}") from None
    if settings.site_mail_relay and not settings.site_mail_sender:
        raise SettingsInvalid("STEAD_SITE_MAIL_SENDER must be set, because STEAD_SITE_MAIL_RELAY is")
    return settings
