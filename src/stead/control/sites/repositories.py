"""URLs of git repositories: strict parsing, and comparing two URLs."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from stead.control.http.host_names import InvalidUrl, parse_host
from stead.control.http.principal import Address, Network
from stead.shared.address_policy import AddressPolicy

MAX_LENGTH = 1000
PORTS = {"https": 443, "ssh": 22}
_HOST = r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s/?#@\\\[\]:%]+)"
_PORT = r"(?::(?P<port>[0-9]{1,5}))?"
_PATH = r"(?P<path>[A-Za-z0-9._~][A-Za-z0-9._~+@=,-]*(?:/[A-Za-z0-9._~][A-Za-z0-9._~+@=,-]*)*)/?"
_HTTPS = re.compile(rf"https://{_HOST}{_PORT}/{_PATH}")
_SSH = re.compile(rf"ssh://(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]*)@)?{_HOST}{_PORT}/{_PATH}")
_SCP = re.compile(rf"(?P<user>git)@{_HOST}:{_PATH}")
_CREDENTIALS = re.compile(r"https://[^/]*@")
_LENIENT = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]*@)?(?P<a>[^/:]+)(?::\d+)?/|[^@/:]+@(?P<b>[^:/]+):)(?P<path>.+)"
)


@dataclass(frozen=True, slots=True)
class Repository:
    """The location of a repository. `literal` is set if the URL has an IP address instead of a host name."""

    scheme: str
    host: str
    port: int | None
    path: str
    literal: Address | None

    @property
    def is_https(self) -> bool:
        return self.scheme == "https"

    @property
    def dialled_port(self) -> int:
        return self.port or PORTS[self.scheme]

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port is None else f"{host}:{self.port}"


def parse_url(url: str) -> Repository:
    """Raises InvalidUrl for anything that is not plainly the URL of a repository.

    Everybody who can see the site can read its URL, so a URL with a credential is refused.
    """
    if _CREDENTIALS.match(url):
        raise InvalidUrl(
            "it contains a user name or password. Use an ssh URL and the deploy key of the site."
        )
    if len(url) > MAX_LENGTH:
        raise InvalidUrl("it is too long.")
    found = _HTTPS.fullmatch(url) or _SSH.fullmatch(url) or _SCP.fullmatch(url)
    if found is None:
        raise InvalidUrl("it is not `https://host/path`, `ssh://git@host/path` or `git@host:path`.")
    host, literal = parse_host(found["host"])
    port = int(found["port"]) if found.groupdict().get("port") else None
    if port is not None and not 0 < port < 65536:
        raise InvalidUrl("its port is invalid.")
    if ".." in found["path"].split("/"):
        raise InvalidUrl("its path contains `..`.")
    return Repository("https" if url.startswith("https:") else "ssh", host, port, found["path"], literal)


def require_allowed_port(repository: Repository, extra_ports: frozenset[int]) -> None:
    """Raises InvalidUrl unless the port is that of https or ssh, or one that the operator allows."""
    if repository.dialled_port not in {*PORTS.values(), *extra_ports}:
        raise InvalidUrl("its port is neither 443 nor 22.")


def require_public_address(repository: Repository, networks: tuple[Network, ...]) -> None:
    """Raises InvalidUrl for an address that is neither public nor in one of the operator's networks.

    A name is not looked up here. Whoever connects checks every address that it resolves to.
    """
    address = repository.literal
    if repository.host.endswith(".localhost"):
        address = IPv4Address("127.0.0.1")
    if address is not None and not AddressPolicy(networks).permits(address):
        raise InvalidUrl("its address is not public.")


def is_same_repository(url: str, other: str) -> bool:
    """Whether two URLs name the same repository, whatever their protocol."""
    return _host_and_path(url) is not None and _host_and_path(url) == _host_and_path(other)


def _host_and_path(url: str) -> tuple[str, str] | None:
    found = _LENIENT.fullmatch(url)
    if found is None:
        return None
    path = found["path"].strip("/").casefold().removesuffix(".git")
    return (found["a"] or found["b"]).casefold(), path
