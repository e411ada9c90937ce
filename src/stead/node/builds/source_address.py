"""Addresses of sources, parsed strictly before git or curl see them."""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from stead.node.builds.failures import BuildFailed
from stead.node.containers.egress_rules import HostRule

_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/@+#-]{0,254}")
_COMMIT = re.compile(r"[0-9a-f]{7,40}|[0-9a-f]{64}")
_SHORT_SSH = re.compile(r"(?P<user>[A-Za-z0-9._-]+)@(?P<host>[A-Za-z0-9.-]+):(?P<path>[^/:].*)")
_PORTS = {"http": 80, "https": 443, "ssh": 22}
_ALLOWED_PORTS = {"http": (80, 443), "https": (443, 80), "ssh": (22, 443)}
"""Customers choose the address of a source. On other ports there may be anything."""

Scheme = Literal["http", "https", "ssh"]


@dataclass(frozen=True)
class SourceAddress:
    scheme: str
    host: str
    port: int
    url: str

    @property
    def rule(self) -> HostRule:
        return HostRule(self.host, self.port, ssh=self.scheme == "ssh")

    @property
    def has_usual_port(self) -> bool:
        return self.port in _ALLOWED_PORTS[self.scheme]


def parse_address(url: str, *schemes: Scheme) -> SourceAddress:
    """Raise BuildFailed for everything but an address of these schemes."""
    if short := _SHORT_SSH.fullmatch(url):
        url = f"ssh://{short['user']}@{short['host']}/{short['path']}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    allowed = " or ".join(schemes)
    if not host or host.startswith("-") or parts.scheme not in schemes or not url.isascii():
        raise BuildFailed(f"the source's address must be one of {allowed}")
    if not url.isprintable() or " " in url:
        raise BuildFailed("the source's address has characters that no address has")
    return SourceAddress(parts.scheme, host.lower(), port or _PORTS[parts.scheme], url)


def check_ref(text: str) -> str:
    if text and (_REF.fullmatch(text) is None or ".." in text or text.endswith((".lock", "/"))):
        raise BuildFailed("the ref is no name of a branch or tag")
    return text


def check_commit(text: str) -> str:
    if text and _COMMIT.fullmatch(text) is None:
        raise BuildFailed("the commit is not named by its hash")
    return text
