"""The settings of the API and the worker, read once from the environment (`STEAD_…`)."""

import ipaddress
import os
import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from stead.control.engines.object_store import ObjectStore, StoreLocation
from stead.control.http.cross_origin import AllowedOrigins, OriginInvalid
from stead.control.jobs.repository_access import RepositoryGateway
from stead.protocol.streams import EDGE_MB, OUTPUT_MB
from stead.shared.repository_tokens import keys_from_text

_MISSING = re.compile(r"missing required field `(\w+)`")

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class SettingsInvalid(Exception):
    """A setting is missing or invalid. The message names the variable."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The docstrings of the fields are the descriptions in docs/operations.md."""

    database_url: str
    """`postgresql://user:password@host:port/database`, PostgreSQL 15 or newer."""
    redis_url: str
    """`redis://:password@host:port/0`, or `rediss://` for TLS; Redis 7 or newer. It needs no persistence."""
    nats_url: str
    """`nats://host:port`, or `tls://host:port` for TLS from the first byte (`handshake_first` in the server's
    settings); with JetStream enabled."""
    nats_user: str = "api"
    """Every program has its own NATS user."""
    nats_password: str = ""
    """The password of the NATS user."""
    nats_output_mb: Annotated[int, msgspec.Meta(ge=64)] = OUTPUT_MB
    """Worker only: the space that NATS reserves for the output of jobs. When it is full, the oldest output
    is removed."""
    nats_edge_mb: Annotated[int, msgspec.Meta(ge=64)] = EDGE_MB
    """Worker only: the space that NATS reserves for the records of the edges; about 5 KB for each
    certificate. `max_file_store` of NATS must be at least 1,100 MB larger than both together."""
    temporal_address: str = "127.0.0.1:7233"
    """Worker only: `host:port` of Temporal."""
    temporal_namespace: str = "default"
    """Worker only: the namespace of the workflows."""
    temporal_tls: bool = False
    """Worker only: connect with TLS, and never without."""
    s3_endpoint: str = ""
    """The URL of the object store, with any S3 API."""
    s3_public_endpoint: str = ""
    """The URL at which customers reach the object store for uploads, if it is a different one."""
    s3_access_key: str = ""
    """The access key of the object store."""
    s3_secret_key: str = ""
    """The secret key of the object store."""
    s3_bucket: str = "stead"
    """The bucket of all artifacts and uploads."""
    offsite_s3_endpoint: str = ""
    """Worker only: the URL of a second object store, in another place, that backups are copied to. Without it
    there is only one copy of them."""
    offsite_s3_access_key: str = ""
    """Worker only: the access key of the second store."""
    offsite_s3_secret_key: str = ""
    """Worker only: the secret key of the second store."""
    offsite_s3_bucket: str = "stead"
    """Worker only: the bucket in the second store."""
    powerdns_url: str = ""
    """The URL of the HTTP API of PowerDNS, which serves the zones of sites. Without it there are none."""
    powerdns_key: str = ""
    """Worker only: the key of this API."""
    dns_nameservers: str = "ns1.stead.example,ns2.stead.example"
    """The names of the name servers, which customers delegate their domains to. No site may have them."""
    repositories_url: str = ""
    """Worker only: the URL at which nodes reach the repository gateway. Without it there are no backups."""
    repository_key: str = ""
    """Worker and repository gateway: base64 of 32 random bytes. Signs the tokens with which a node reaches
    the backups of one site for one job. Several keys are separated by commas: the first one signs, all of
    them verify."""
    clickhouse_url: str = ""
    """`http://user:password@host:port/database`, or `https://…`; ClickHouse 26.2 or newer. The user of the
    API needs to read only. Without it nothing is recorded about sites, and insights answer 503."""
    vulnerability_feed: Annotated[str, msgspec.Meta(pattern=r"^$|^(/|https://)\S+$")] = ""
    """Worker only: a file, or an https address, with the vulnerabilities of WordPress, plugins and themes in
    the format of Wordfence Intelligence v3. Without it none are reported."""
    vulnerability_feed_key: str = ""
    """Worker only: the key for that address."""
    sealing_key: str
    """Base64 of 32 random bytes: `openssl rand -base64 32`. Encrypts secrets at rest. Keep it safe: anyone
    who has it can decrypt them, and without it they are lost. Several keys are
    separated by commas: the first one encrypts, all of them decrypt. docs/operations.md explains how to
    change it."""
    edge_master_key: str = ""
    """Worker only: base64 of 32 random bytes. Private keys of certificates are encrypted for the edges of
    each region with a key derived from it. `steadctl nodes key REGION` prints that key. Several keys are
    separated by commas: the first one encrypts, and nodes get the keys of all of them."""
    edge_patience: Annotated[float, msgspec.Meta(gt=0)] = 40.0
    """Seconds that an edge may take to apply a change before the job fails. Use more than 30: after 30 s a
    silent node counts as down, and jobs no longer wait for it."""
    api_host: str = "127.0.0.1"
    """The address that the API listens on."""
    api_port: Port = 8000
    """The port that the API listens on."""
    metrics_host: str = "127.0.0.1"
    """The address that the Prometheus metrics are served on. It should not be reachable for customers."""
    metrics_port: Port = 9000
    """The port of the Prometheus metrics."""
    worker_port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    """Worker only: the port, on the address of the metrics, of `/healthz`, `/readyz` and `/metrics`. Without
    it they are not served."""
    request_head_seconds: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    """Seconds in which the head of a request must arrive."""
    request_body_seconds: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """Seconds in which the body of a request must arrive."""
    connections: Annotated[int, msgspec.Meta(ge=1)] = 4096
    """The maximum number of connections of an API process. When there are more, the one that has waited
    longest for a request is closed."""
    connections_per_address: Annotated[int, msgspec.Meta(ge=1)] = 256
    """The maximum number of connections from one IPv4 address or one /64 of IPv6. Trusted proxies have no
    limit."""
    unknown_credentials_per_minute: Annotated[int, msgspec.Meta(ge=1)] = 60
    """How many credentials that do not exist one address may send to an API process per minute."""
    streams_per_credential: Annotated[int, msgspec.Meta(ge=1)] = 50
    """The maximum number of open streams of one API key or session, for each API process."""
    streams_per_account: Annotated[int, msgspec.Meta(ge=1)] = 100
    """The same for all credentials of an account."""
    streams_per_address: Annotated[int, msgspec.Meta(ge=1)] = 200
    """The same for one client address."""
    base_url: str = "http://127.0.0.1:8000"
    """The URL at which customers reach the API."""
    docs_url: str = ""
    """The base of `doc_url` in errors. Default: `<base_url>/docs`."""
    trusted_proxies: str = ""
    """Comma-separated addresses and CIDRs of proxies whose `X-Forwarded-For` header is trusted."""
    cors_origins: str = ""
    """Comma-separated origins of web pages that may call the API from a browser, for example
    `https://dashboard.example.com`; `*` for all. Without any, browsers refuse."""
    preview: bool = True
    """Whether operations marked Preview are available."""
    database_connections: Annotated[int, msgspec.Meta(ge=1)] = 16
    """The maximum number of database connections of a process. A worker has four more, to dispatch jobs."""
    viewer: str = ""
    """The directory of `swagger-ui-dist`, for `/docs`. Found automatically in a checkout."""
    smtp_url: str = ""
    """`smtp://user:password@host:587` (STARTTLS is required) or `smtps://…`. `smtp+plaintext://`
    sends without encryption. Without it no mail is sent."""
    email_verification: bool | None = None
    """Whether people must confirm their email address before they have an account. Default: `true` if
    `STEAD_SMTP_URL` is set. Without a mail server nobody could: accounts exist at once, and every address
    counts as verified. Set both for the API and the workers alike."""
    mail_from: str = "stead@localhost"
    """The sender address of mail."""
    webhook_networks: str = ""
    """Comma-separated CIDRs of your own networks that webhooks may reach although they are not public."""
    git_networks: str = ""
    """Comma-separated CIDRs of your own networks that repositories may be in although they are not public."""
    git_ports: str = ""
    """Comma-separated ports that repositories may use besides 443 and 22."""
    git_poll_seconds: Annotated[float, msgspec.Meta(gt=0)] = 300.0
    """The interval at which the branches of a repository are read if it sends no hooks."""
    preview_domain: str = "preview.stead.example"
    """Every environment is also reachable at a host name under this domain."""
    ssh_public_host: str = "{node}.ssh.stead.example"
    """The host name at which customers reach the SSH server of a node; `{node}` is the id of the node."""
    ssh_public_port: Port = 2222
    """The port of the SSH servers."""
    domain_verification: Literal["dns", "none"] = "dns"
    """`dns`: a domain is served only when its owner has proved it in the DNS. `none`: domains need no proof,
    so any customer can take any name. Only for development and tests, where all customers are trusted."""
    reserved_domains: str = ""
    """Comma-separated domains that no site may use, with all names under them; for example your own. The
    preview domain and the hosts of the API, the documentation, the object store and SSH are always
    reserved."""
    environment_idle_days: Annotated[int, msgspec.Meta(ge=1)] = 7
    """Worker only: days without a visitor after which a branch environment is suspended."""
    acme_directory: str = ""
    """Worker only: the directory URL of the certificate authority, for example
    `https://acme-v02.api.letsencrypt.org/directory`. Without it no certificates are requested. Setting it
    accepts the terms of the authority."""
    acme_email: str = ""
    """Worker only: the contact address for the certificate authority."""
    acme_ca_file: str = ""
    """Worker only: the root certificates of an authority that is not public. Default: the public roots."""
    acme_orders_per_owner: Annotated[int, msgspec.Meta(ge=0)] = 100
    """Worker only: how many certificates are ordered within three hours for the sites of one owner; 0 for any
    number. Public authorities limit the orders of the whole installation."""
    edge_addresses: str = ""
    """Worker only: comma-separated addresses or networks that domains must point to; `us-east=203.0.113.5`
    applies to one region. Without any, domains are proved by TXT records only."""
    dns_resolver: str = ""
    """Worker only: `host:port` of the resolver for domains. Default: the resolver of the system."""
    cell: Annotated[int, msgspec.Meta(ge=0, lt=1024)] = 0
    """The number of this cell, 0 to 1023. Identifiers contain it."""

    @property
    def docs(self) -> str:
        return (self.docs_url or f"{self.base_url}/docs").rstrip("/")

    @property
    def proxies(self) -> list[str]:
        return _split(self.trusted_proxies)

    @property
    def allowed_origins(self) -> list[str]:
        return _split(self.cors_origins)

    @property
    def verifies_email(self) -> bool:
        return bool(self.smtp_url) if self.email_verification is None else self.email_verification

    @property
    def verify_domains(self) -> bool:
        return self.domain_verification != "none"

    @property
    def nameservers(self) -> tuple[str, ...]:
        return tuple(_split(self.dns_nameservers.lower()))

    @property
    def own_names(self) -> frozenset[str]:
        """Names that no site may have, nor names under them."""
        urls = (self.base_url, self.docs_url, self.s3_endpoint, self.s3_public_endpoint)
        hosts = [urlsplit(url).hostname or "" for url in urls]
        hosts.append(self.ssh_public_host.removeprefix("{node}."))
        # A zone of a name server would hide its addresses.
        hosts += self.nameservers
        named = [host.lower() for host in hosts if "." in host and "{" not in host and not _is_address(host)]
        return frozenset({self.preview_domain.lower(), *named, *_split(self.reserved_domains.lower())})

    @property
    def webhooks_allowed(self) -> list[str]:
        return _split(self.webhook_networks)

    @property
    def git_allowed(self) -> list[str]:
        return _split(self.git_networks)

    @property
    def extra_git_ports(self) -> frozenset[int]:
        return frozenset(int(port) for port in _split(self.git_ports))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    given = {
        field: environment[variable]
        for field in Settings.__struct_fields__
        if (variable := _variable(field)) in environment
    }
    try:
        settings = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(_describe(str(error))) from None
    try:
        msgspec.convert(_split(settings.git_ports), list[Port], strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"{_variable('git_ports')}: {error}") from None
    try:
        AllowedOrigins.parse(settings.allowed_origins)
    except OriginInvalid as error:
        reason = f"{str(error)!r} is not an origin such as https://dashboard.example.com"
        raise SettingsInvalid(f"{_variable('cors_origins')}: {reason}") from None
    return settings


def _describe(message: str) -> str:
    """The message of msgspec, with the name of the variable instead of the field."""
    if missing := _MISSING.search(message):
        return f"{_variable(missing[1])} is missing. docs/operations.md describes all settings."
    reason, _, field = message.rpartition(" - at `$.")
    return f"{_variable(field.rstrip('`'))}: {reason}"


def _variable(field: str) -> str:
    return f"STEAD_{field.upper()}"


def object_store_of(settings: Settings) -> ObjectStore:
    return ObjectStore(
        settings.s3_endpoint,
        settings.s3_access_key,
        settings.s3_secret_key,
        settings.s3_bucket,
        public_endpoint=settings.s3_public_endpoint,
    )


def second_store_of(settings: Settings) -> ObjectStore | None:
    if not settings.offsite_s3_endpoint:
        return None
    return ObjectStore(
        settings.offsite_s3_endpoint,
        settings.offsite_s3_access_key,
        settings.offsite_s3_secret_key,
        settings.offsite_s3_bucket,
    )


def repository_gateway_of(settings: Settings) -> RepositoryGateway | None:
    if not settings.repositories_url or not settings.repository_key:
        return None
    return RepositoryGateway(
        settings.repositories_url, keys_from_text(settings.repository_key)[0], backup_store_of(settings)
    )


def backup_store_of(settings: Settings) -> StoreLocation:
    return StoreLocation(
        settings.s3_endpoint, settings.s3_access_key, settings.s3_secret_key, settings.s3_bucket
    )
