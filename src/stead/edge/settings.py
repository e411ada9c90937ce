"""Everything the operator of an edge can set, read once from the environment (`STEAD_…`)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

LUA = Path(__file__).parent / "lua"
LONGEST_SOCKET = 100
"""A unix socket's path has room for 107 bytes."""

Megabytes = Annotated[int, Meta(ge=1, le=1_048_576)]
ListenAddress = Annotated[str, Meta(pattern=r"^([0-9.]+|\[[0-9a-f:]+\]|\*):[0-9]{1,5}$")]


class SettingsInvalid(Exception):
    """The environment does not describe a usable edge; the message says which variable."""


class SharedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Shared memory in megabytes. None of these is ever made room in by forgetting a record: a full one says
    so. A million hosts with an environment each take about 900."""

    records: Megabytes = 128
    redirects: Megabytes = 64
    certificates: Megabytes = 64
    purges: Megabytes = 16
    pages: Megabytes = 32
    """Tags of cached pages; here the oldest may be forgotten."""
    lockout: Megabytes = 8
    misses: Megabytes = 4


class EdgeSettings(msgspec.Struct, frozen=True, kw_only=True):
    node_id: Annotated[str, Meta(pattern="^[a-z0-9-]{1,63}$")]
    data: str
    """The node's directory: `releases`, `environments`."""
    run: str
    """Sockets, configuration, temporary files. Whoever can enter it can change what is served."""
    http: tuple[ListenAddress, ...] = ("127.0.0.1:8080",)
    https: tuple[ListenAddress, ...] = ()
    https_port: Annotated[int, Meta(ge=1, le=65535)] = 443
    """The port of https as visitors see it, where they are sent from http."""
    user: str = ""
    """Whom the workers run as, when the master is root."""
    workers: Annotated[int, Meta(ge=0, le=512)] = 0
    """0 for one each core."""
    connections: Annotated[int, Meta(ge=64)] = 8192
    memory: SharedMemory = SharedMemory()
    cache: Megabytes = 1024
    """Pages of applications on disk."""
    ledger: str = ""
    lua: str = str(LUA)
    firewall: bool = True
    """Whether ModSecurity and its core rules are installed. Without, all are served as with `off`."""
    resolver: str = ""
    """A name server, if peers are given by name."""
    modules: str = "/usr/lib/nginx/modules"
    crs: str = "/usr/share/modsecurity-crs/rules"

    @property
    def ledger_file(self) -> str:
        return self.ledger or f"{self.run}/ledger.json"

    @property
    def admin_socket(self) -> str:
        """In a directory of its own: the workers have it from their master and need not reach it."""
        return f"{self.run}/private/admin.sock"


def from_environment(environment: Mapping[str, str] = os.environ) -> EdgeSettings:
    """`STEAD_NODE_ID` and `STEAD_NODE_DATA` are the node's own; the rest begins with `STEAD_EDGE_`."""
    given: dict[str, object] = {}
    for field in EdgeSettings.__struct_fields__:
        value = environment.get(f"STEAD_EDGE_{field.upper()}")
        if value is not None:
            given[field] = _read(field, value)
    memory = {
        field: environment[name]
        for field in SharedMemory.__struct_fields__
        if (name := f"STEAD_EDGE_MEMORY_{field.upper()}") in environment
    }
    if memory:
        given["memory"] = memory
    for field, name in (("node_id", "STEAD_NODE_ID"), ("data", "STEAD_NODE_DATA")):
        if name in environment:
            given.setdefault(field, environment[name])
    for field in ("data", "run"):
        # nginx serves nothing that a symbolic link leads to, not even to its own root.
        if field in given:
            given[field] = str(Path(str(given[field])).resolve())
    if "data" in given:
        given.setdefault("run", f"{given['data']}/run")
    try:
        settings = msgspec.convert(given, EdgeSettings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"STEAD_EDGE_* settings: {error}") from None
    check_paths(settings)
    return settings


def check_paths(settings: EdgeSettings) -> None:
    """What a type cannot say: these become words of nginx's configuration."""
    for name in ("data", "run", "ledger_file", "lua", "modules", "crs"):
        value = str(getattr(settings, name))
        if not value.startswith("/") or any(char in value for char in "\"\\;{}$'\n\r\t "):
            raise SettingsInvalid(f"{name} must be an absolute path without spaces, quotes or dollars")
    if len(f"{settings.run}/inner-detection.sock") > LONGEST_SOCKET:
        raise SettingsInvalid("the path of run is too long for a unix socket")


def _read(field: str, value: str) -> object:
    if field in {"http", "https"}:
        return [each.strip() for each in value.split(",") if each.strip()]
    return value
