"""Addresses that may be delivered to, read strictly: what can be read in two ways is refused."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

import idna

from stead.control.platform.principal import Address

PORTS = (443, 8443)
LONGEST = 2000

_URL = re.compile(
    r"https://(?P<host>\[[0-9a-f:.]+\]|[^\s/?#@\\\[\]:%]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class NotAnAddress(ValueError):
    """The message says why, in the words of whoever wrote the URL."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a delivery goes. `literal` is the address itself when the URL names no host."""

    host: str
    port: int
    path: str
    literal: Address | None

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port == 443 else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"https://{self.authority}{self.path}"


def read(url: str) -> Target:
    """The target of a URL; NotAnAddress for anything that is not plainly one."""
    found = _URL.fullmatch(url) if len(url) <= LONGEST else None
    if found is None:
        raise NotAnAddress("it is not an `https://` URL without user, password and fragment.")
    port = int(found["port"] or PORTS[0])
    if port not in PORTS:
        raise NotAnAddress("only ports 443 and 8443 are delivered to.")
    path = found["path"] or "/"
    host, literal = _host(found["host"])
    return Target(host, port, path if path.startswith("/") else f"/{path}", literal)


def _host(text: str) -> tuple[str, Address | None]:
    if text.startswith("["):
        try:
            address: Address = IPv6Address(text[1:-1])
        except ValueError:
            raise NotAnAddress("its IPv6 address is malformed.") from None
        return str(address), address
    try:
        address = IPv4Address(text)
    except ValueError:
        return _name(text), None
    return str(address), address


def _name(text: str) -> str:
    """A host name with a dot in it. A last label that begins with a digit spells an IP address."""
    try:
        name = idna.encode(text.removesuffix("."), uts46=True, transitional=False).decode("ascii").lower()
    except idna.IDNAError:
        raise NotAnAddress("its host name is malformed.") from None
    labels = name.split(".")
    if len(labels) < 2 or len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise NotAnAddress("its host is not a full host name.")
    if not labels[-1][0].isalpha():
        raise NotAnAddress("its host is an IP address in an unusual spelling.")
    return name
