"""Everything an operator can set, read once from the environment (`STEAD_…`)."""

import os
from collections.abc import Mapping
from typing import Annotated

import msgspec

from stead.control.engines.object_store import ObjectStore

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class SettingsInvalid(Exception):
    """The environment does not describe a usable installation; the message says which variable."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    database_url: str
    redis_url: str
    nats_url: str
    nats_user: str = "api"
    nats_password: str = ""
    temporal_address: str = "127.0.0.1:7233"
    s3_endpoint: str = ""
    """Of the object store; any S3 API."""
    s3_public_endpoint: str = ""
    """Where customers reach it for their uploads, if they reach it elsewhere."""
    s3_access_key: str = ""
    s3_secret_key: str = ""
    s3_bucket: str = "stead"
    sealing_key: str
    """Base64 of 32 random bytes. Whoever has it can read what is sealed at rest."""
    edge_master_key: str = ""
    """Base64 of 32 random bytes, for the worker: certificates are sealed for each region's edges with a key
    derived from it."""
    edge_patience: Annotated[float, msgspec.Meta(gt=0)] = 40.0
    """Seconds an edge may take to go by what it is told. A node that is down is known to be after thirty,
    and then not waited for."""
    api_host: str = "127.0.0.1"
    api_port: Port = 8000
    metrics_port: Port = 9000
    base_url: str = "http://127.0.0.1:8000"
    docs_url: str = ""
    """Where `doc_url` in errors points; `<base_url>/docs` unless set."""
    trusted_proxies: str = ""
    """Comma-separated addresses and CIDRs whose `X-Forwarded-For` is believed."""
    preview: bool = True
    """Whether operations marked Preview are there."""
    database_connections: Annotated[int, msgspec.Meta(ge=1)] = 16
    viewer: str = ""
    """Directory of the installed API reference viewer; found by itself in a checkout."""
    smtp_url: str = ""
    """`smtp://user:password@host:587` (STARTTLS where offered) or `smtps://…`; without it no mail is sent."""
    mail_from: str = "stead@localhost"
    webhook_networks: str = ""
    """Comma-separated CIDRs of the operator's own that webhooks may reach although they are not public."""
    git_networks: str = ""
    """Comma-separated CIDRs of the operator's own that repositories may be in though they are not public."""
    git_poll_seconds: Annotated[float, msgspec.Meta(gt=0)] = 300.0
    """How often a repository is asked for its branches while no hook is heard from it."""
    preview_domain: str = "preview.stead.example"
    """Every environment also answers on a name under this domain."""
    environment_idle_days: Annotated[int, msgspec.Meta(ge=1)] = 7
    """After so many days without a visitor a branch environment is suspended."""
    acme_directory: str = ""
    """The directory of the certificate authority; without it no certificate is asked for."""
    acme_email: str = ""
    """Where the certificate authority may write to."""
    acme_ca_file: str = ""
    """The roots to trust for a certificate authority that is not public."""
    edge_addresses: str = ""
    """Comma-separated addresses that a domain must lead to, `region=address` for those of one region."""
    dns_resolver: str = ""
    """`host:port` of the resolver to ask where a domain leads; the system's unless set."""
    cell: Annotated[int, msgspec.Meta(ge=0, lt=1024)] = 0

    @property
    def docs(self) -> str:
        return (self.docs_url or f"{self.base_url}/docs").rstrip("/")

    @property
    def proxies(self) -> list[str]:
        return _listed(self.trusted_proxies)

    @property
    def webhooks_allowed(self) -> list[str]:
        return _listed(self.webhook_networks)

    @property
    def git_allowed(self) -> list[str]:
        return _listed(self.git_networks)


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    given = {
        field: environment[variable]
        for field in Settings.__struct_fields__
        if (variable := f"STEAD_{field.upper()}") in environment
    }
    try:
        return msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"STEAD_* settings: {error}") from None


def object_store_of(settings: Settings) -> ObjectStore:
    return ObjectStore(
        settings.s3_endpoint,
        settings.s3_access_key,
        settings.s3_secret_key,
        settings.s3_bucket,
        public_endpoint=settings.s3_public_endpoint,
    )
