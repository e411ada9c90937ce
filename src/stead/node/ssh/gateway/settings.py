"""The settings of the gateway, read once from the environment (`STEAD_…`)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from stead.node.containers.limits import GATEWAY_UID


class SettingsInvalid(Exception):
    """A setting is missing or wrong; the message names the variable."""


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    node_data: str
    """The directory of the node on this machine."""
    ssh_host: str = "0.0.0.0"  # noqa: S104 - clients come from the internet
    """The address that the gateway listens on; `::` for IPv6 as well."""
    ssh_port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 2222
    ssh_uid: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = 0
    """The user that the gateway becomes if root starts it; one that owns nothing if 0. The same as for the
    node."""
    ssh_host_key: str = ""
    """The file of the host key; `<data>/ssh-host-key` if empty. It is created once."""

    @property
    def data(self) -> Path:
        return Path(self.node_data)

    @property
    def uid(self) -> int:
        return self.ssh_uid or GATEWAY_UID

    @property
    def host_key(self) -> Path:
        return Path(self.ssh_host_key) if self.ssh_host_key else self.data / "ssh-host-key"


def from_environment(environment: Mapping[str, str] = os.environ) -> GatewaySettings:
    given = {
        field: environment[variable]
        for field in GatewaySettings.__struct_fields__
        if (variable := f"STEAD_{field.upper()}") in environment
    }
    try:
        return msgspec.convert(given, GatewaySettings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"STEAD_NODE_DATA and STEAD_SSH_…: {error}") from None
