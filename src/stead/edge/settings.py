"""The settings of an edge, read once from the environment (`STEAD_…`)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

LUA = Path(__file__).parent / "lua"
MAX_SOCKET_PATH = 100
"""The path of a unix socket has at most 107 bytes."""

Megabytes = Annotated[int, Meta(ge=1, le=1_048_576)]
ListenAddress = Annotated[str, Meta(pattern=r"^([0-9.]+|\[[0-9a-f:]+\]|\*):[0-9]{1,5}$")]


class SettingsInvalid(Exception):
    """A setting is missing or wrong; the message names the variable."""


class SharedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of nginx's shared memory in megabytes. When a dictionary is full, further records are skipped and
    reported. A million hosts with one environment each need about 900 MB."""

    records: Megabytes = 128
    redirects: Megabytes = 64
    certificates: Megabytes = 64
    """The least recently used is evicted. A chain of three certificates takes 8 KB."""
    purges: Megabytes = 16
    pages: Megabytes = 32
    """Tags of cached pages. Here the oldest may be evicted."""
    lockout: Megabytes = 8
    misses: Megabytes = 4


class EdgeSettings(msgspec.Struct, frozen=True, kw_only=True):
    node_id: Annotated[str, Meta(pattern="^[a-z0-9-]{1,63}$")]
    data: str
    """The node's directory, with `releases` and `environments`."""
    run: str
    """Sockets, configuration and temporary files. Access to it allows changing what is served."""
    http: tuple[ListenAddress, ...] = ("127.0.0.1:8080",)
    https: tuple[ListenAddress, ...] = ()
    https_port: Annotated[int, Meta(ge=1, le=65535)] = 443
    """The HTTPS port that visitors see, for redirects from HTTP."""
    user: str = ""
    """The user of the workers, when the master is root."""
    workers: Annotated[int, Meta(ge=0, le=512)] = 0
    """0 for one per core."""
    connections: Annotated[int, Meta(ge=64)] = 8192
    address_connections: Annotated[int, Meta(ge=16)] = 512
    """How many connections an address may have to each worker. Other edges of the region are exempt."""
    address_at_once: Annotated[int, Meta(ge=1)] = 100
    """How many requests of an address applications and functions handle at the same time."""
    address_rate: Annotated[int, Meta(ge=1)] = 200
    """How many requests of an address per second reach applications and functions, over five seconds."""
    memory: SharedMemory = SharedMemory()
    cache: Megabytes = 1024
    """Size of the page cache on disk."""
    ledger: str = ""
    lua: str = str(LUA)
    firewall: bool = True
    """Whether ModSecurity and its core rules are installed. Without them every firewall mode is `off`."""
    resolver: str = ""
    """A name server, needed if the addresses of other edges are names."""
    preview_certificate: str = ""
    """A file with a certificate for all hosts of the preview domain (`*.preview.stead.example`) and its
    chain. Permanent URLs of deployments use it: they get no certificates of their own."""
    preview_key: str = ""
    """A file with the private key of that certificate."""
    modules: str = "/usr/lib/nginx/modules"
    crs: str = "/usr/share/modsecurity-crs/rules"

    @property
    def ledger_file(self) -> str:
        return self.ledger or f"{self.run}/ledger.json"

    @property
    def admin_socket(self) -> str:
        """In a private directory: the workers inherit the socket from the master and need no access to it."""
        return f"{self.run}/private/admin.sock"


def from_environment(environment: Mapping[str, str] = os.environ) -> EdgeSettings:
    """`STEAD_NODE_ID` and `STEAD_NODE_DATA` are shared with the node; all others begin with `STEAD_EDGE_`."""
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
        # nginx does not follow symbolic links, not even in the path of its root directory.
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
    """Check paths for characters with a meaning in nginx's configuration."""
    if bool(settings.preview_certificate) != bool(settings.preview_key):
        raise SettingsInvalid("preview_certificate and preview_key need each other")
    names = ["data", "run", "ledger_file", "lua", "modules", "crs"]
    if settings.preview_certificate:
        names += ["preview_certificate", "preview_key"]
    for name in names:
        value = str(getattr(settings, name))
        if not value.startswith("/") or any(char in value for char in "\"\\;{}$'\n\r\t "):
            raise SettingsInvalid(f"{name} must be an absolute path without spaces, quotes or dollars")
    if len(f"{settings.run}/inner-detection.sock") > MAX_SOCKET_PATH:
        raise SettingsInvalid("the path of run is too long for a unix socket")


def _read(field: str, value: str) -> object:
    if field in {"http", "https"}:
        return [address.strip() for address in value.split(",") if address.strip()]
    return value
