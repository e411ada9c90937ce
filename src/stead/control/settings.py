"""The settings of the API and the worker, read once from the environment (`STEAD_…`)."""

import os
from collections.abc import Mapping
from typing import Annotated

import msgspec

from stead.control.engines.object_store import ObjectStore

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class SettingsInvalid(Exception):
    """A setting is missing or invalid. The message names the variable."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The docstrings of the fields are the descriptions in docs/operations.md."""

    database_url: str
    """`postgresql://user:password@host:port/database`, PostgreSQL 15 or newer."""
    redis_url: str
    """`redis://host:port/0`, Redis 7 or newer. Persistence is not needed."""
    nats_url: str
    """`nats://host:port`, with JetStream enabled."""
    nats_user: str = "api"
    """Every program has its own NATS user."""
    nats_password: str = ""
    """The password of the NATS user."""
    temporal_address: str = "127.0.0.1:7233"
    """Worker only: `host:port` of Temporal."""
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
    sealing_key: str
    """Base64 of 32 random bytes: `openssl rand -base64 32`. Encrypts secrets at rest. Keep it safe: anyone
    who has it can decrypt them, and without it they are lost."""
    edge_master_key: str = ""
    """Worker only: base64 of 32 random bytes. Private keys of certificates are encrypted for the edges of
    each region with a key derived from it. `steadctl nodes key REGION` prints that key."""
    edge_patience: Annotated[float, msgspec.Meta(gt=0)] = 40.0
    """Seconds that an edge may take to apply a change before the job fails. Use more than 30: after 30 s a
    silent node counts as down, and jobs no longer wait for it."""
    api_host: str = "127.0.0.1"
    """The address that the API listens on."""
    api_port: Port = 8000
    """The port that the API listens on."""
    metrics_port: Port = 9000
    """The port of the Prometheus metrics, on the same address."""
    base_url: str = "http://127.0.0.1:8000"
    """The URL at which customers reach the API."""
    docs_url: str = ""
    """The base of `doc_url` in errors. Default: `<base_url>/docs`."""
    trusted_proxies: str = ""
    """Comma-separated addresses and CIDRs of proxies whose `X-Forwarded-For` header is trusted."""
    preview: bool = True
    """Whether operations marked Preview are available."""
    database_connections: Annotated[int, msgspec.Meta(ge=1)] = 16
    """The maximum number of database connections of a process. A worker has four more, to dispatch jobs."""
    viewer: str = ""
    """The directory of `swagger-ui-dist`, for `/docs`. Found automatically in a checkout."""
    smtp_url: str = ""
    """`smtp://user:password@host:587` (STARTTLS if offered) or `smtps://…`. Without it no mail is sent."""
    mail_from: str = "stead@localhost"
    """The sender address of mail."""
    webhook_networks: str = ""
    """Comma-separated CIDRs of your own networks that webhooks may reach although they are not public."""
    git_networks: str = ""
    """Comma-separated CIDRs of your own networks that repositories may be in although they are not public."""
    git_poll_seconds: Annotated[float, msgspec.Meta(gt=0)] = 300.0
    """The interval at which the branches of a repository are read if it sends no hooks."""
    preview_domain: str = "preview.stead.example"
    """Every environment is also reachable at a host name under this domain."""
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
    edge_addresses: str = ""
    """Worker only: comma-separated addresses or networks that domains must point to; `us-east=203.0.113.5`
    applies to one region. Without any, DNS is not checked before a certificate is requested."""
    dns_resolver: str = ""
    """Worker only: `host:port` of the resolver for these checks. Default: the resolver of the system."""
    cell: Annotated[int, msgspec.Meta(ge=0, lt=1024)] = 0
    """The number of this cell, 0 to 1023. Identifiers contain it."""

    @property
    def docs(self) -> str:
        return (self.docs_url or f"{self.base_url}/docs").rstrip("/")

    @property
    def proxies(self) -> list[str]:
        return _split(self.trusted_proxies)

    @property
    def webhooks_allowed(self) -> list[str]:
        return _split(self.webhook_networks)

    @property
    def git_allowed(self) -> list[str]:
        return _split(self.git_networks)


def _split(text: str) -> list[str]:
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
