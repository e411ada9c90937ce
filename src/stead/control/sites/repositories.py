"""Addresses of git repositories, read strictly, and whether two of them name the same repository."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address

from stead.control.http.host_names import InvalidUrl, parse_host
from stead.control.http.principal import Address

LONGEST = 1000
_HOST = r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s/?#@\\\[\]:%]+)"
_PORT = r"(?::(?P<port>[0-9]{1,5}))?"
_PATH = r"(?P<path>[A-Za-z0-9._~][A-Za-z0-9._~+@=,-]*(?:/[A-Za-z0-9._~][A-Za-z0-9._~+@=,-]*)*)/?"
_HTTPS = re.compile(rf"https://{_HOST}{_PORT}/{_PATH}")
_SSH = re.compile(rf"ssh://(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]*)@)?{_HOST}{_PORT}/{_PATH}")
_SCP = re.compile(rf"(?P<user>git)@{_HOST}:{_PATH}")
_CREDENTIALS = re.compile(r"https://[^/]*@")
_SAID = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]*@)?(?P<a>[^/:]+)(?::\d+)?/|[^@/:]+@(?P<b>[^:/]+):)(?P<path>.+)"
)


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository is. `literal` is the address itself where the URL names no host."""

    scheme: str
    host: str
    port: int | None
    path: str
    literal: Address | None

    @property
    def is_https(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port is None else f"{host}:{self.port}"


def read(url: str) -> Repository:
    """The repository of a URL; InvalidUrl for anything that is not plainly one.

    A credential does not belong into an address, which everybody who sees the site can read.
    """
    if _CREDENTIALS.match(url):
        raise InvalidUrl("it has a user or a password in it: use an ssh address and the site's deploy key.")
    if len(url) > LONGEST:
        raise InvalidUrl("it is too long.")
    found = _HTTPS.fullmatch(url) or _SSH.fullmatch(url) or _SCP.fullmatch(url)
    if found is None:
        raise InvalidUrl("it is not `https://host/path`, `ssh://git@host/path` or `git@host:path`.")
    host, literal = parse_host(found["host"])
    port = int(found["port"]) if found.groupdict().get("port") else None
    if port is not None and not 0 < port < 65536:
        raise InvalidUrl("its port is none.")
    if ".." in found["path"].split("/"):
        raise InvalidUrl("its path leads upwards.")
    return Repository("https" if url.startswith("https:") else "ssh", host, port, found["path"], literal)


def same(url: str, other: str) -> bool:
    """Whether two addresses name one repository, however each is reached."""
    return _known_as(url) is not None and _known_as(url) == _known_as(other)


def _known_as(url: str) -> tuple[str, str] | None:
    found = _SAID.fullmatch(url)
    if found is None:
        return None
    path = found["path"].strip("/").casefold().removesuffix(".git")
    return (found["a"] or found["b"]).casefold(), path
