"""Parsing of endpoint URLs. The parser is strict: it refuses every URL that could be interpreted in two
ways."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address

from stead.control.http.host_names import InvalidUrl, parse_host
from stead.control.http.principal import Address

__all__ = ["InvalidUrl", "Target", "parse_target"]

PORTS = (443, 8443)
MAX_LENGTH = 2000

_URL = re.compile(
    r"https://(?P<host>\[[0-9a-f:.]+\]|[^\s/?#@\\\[\]:%]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of an endpoint URL. `literal` is the IP address if the URL contains one instead of a host
    name."""

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


def parse_target(url: str) -> Target:
    """Parse a URL. Raise InvalidUrl, with a reason for the customer, if it cannot be used."""
    found = _URL.fullmatch(url) if len(url) <= MAX_LENGTH else None
    if found is None:
        raise InvalidUrl("it is not an `https://` URL without user, password and fragment.")
    port = int(found["port"] or PORTS[0])
    if port not in PORTS:
        raise InvalidUrl("only ports 443 and 8443 are delivered to.")
    path = found["path"] or "/"
    host, literal = parse_host(found["host"])
    return Target(host, port, path if path.startswith("/") else f"/{path}", literal)
