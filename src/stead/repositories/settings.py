"""The settings of the repository gateway, read once from the environment (`STEAD_…`)."""

import os
from collections.abc import Mapping
from typing import Annotated

import msgspec

from stead.shared.repository_tokens import InvalidRepositoryKey, keys_from_text

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class SettingsInvalid(Exception):
    """A setting is missing or wrong; the message names the variable."""


class RepositoriesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The docstrings of the fields are the descriptions in docs/operations.md."""

    repository_key: str
    """Base64 of 32 random bytes, the same as for the workers: verifies the tokens that they give to nodes.
    Several keys are separated by commas: the first one signs, all of them verify."""
    s3_endpoint: str
    """The URL of the object store."""
    s3_access_key: str
    """An access key that may read and create objects below `backups/`. It need not delete."""
    s3_secret_key: str
    """The secret key of the object store."""
    s3_bucket: str = "stead"
    """The bucket of the repositories."""
    repositories_host: str = "127.0.0.1"
    """The address that the gateway listens on. Only nodes need to reach it."""
    repositories_port: Port = 8400
    """The port that the gateway listens on."""
    repositories_metrics_host: str = "127.0.0.1"
    """The address of `/healthz`, `/readyz` and `/metrics`."""
    repositories_metrics_port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    """The port of `/healthz`, `/readyz` and `/metrics`. Without it they are not served."""
    repositories_connections: Annotated[int, msgspec.Meta(ge=1)] = 1024
    """The maximum number of connections. When there are more, the one that has waited longest for a request
    is closed."""
    repositories_connections_per_address: Annotated[int, msgspec.Meta(ge=1)] = 64
    """The maximum number of connections from one IPv4 address or one /64 of IPv6."""
    repositories_trusted_proxies: str = ""
    """Comma-separated addresses and CIDRs of proxies, which may open any number of connections."""
    repositories_memory_mb: Annotated[int, msgspec.Meta(ge=256)] = 512
    """The memory for files that are being uploaded. One node can use a quarter of it."""
    repositories_body_seconds: Annotated[float, msgspec.Meta(gt=0)] = 120.0
    """Seconds in which an uploaded file must arrive. Files have 16 MB, some up to 64."""

    @property
    def keys(self) -> tuple[bytes, ...]:
        return keys_from_text(self.repository_key)

    @property
    def proxies(self) -> list[str]:
        return [each.strip() for each in self.repositories_trusted_proxies.split(",") if each.strip()]


def from_environment(environment: Mapping[str, str] = os.environ) -> RepositoriesSettings:
    given = {
        field: environment[variable]
        for field in RepositoriesSettings.__struct_fields__
        if (variable := f"STEAD_{field.upper()}") in environment
    }
    try:
        settings = msgspec.convert(given, RepositoriesSettings, strict=False)
        keys_from_text(settings.repository_key)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"STEAD_REPOSITORY_KEY, STEAD_S3_… and STEAD_REPOSITORIES_…: {error}") from None
    except InvalidRepositoryKey as error:
        raise SettingsInvalid(f"STEAD_REPOSITORY_KEY: {error}") from None
    return settings
