"""What a build may reach: names and ports that somebody listed, at addresses of the public internet or of
networks that the operator opened."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_network

from stead.shared.addresses import Address, Network, is_public


class Refused(Exception):
    """The message says what and why."""


@dataclass(frozen=True)
class Rule:
    """`*.example.com` is every name below; `*` is every name."""

    host: str
    port: int = 443
    anywhere: bool = False
    """Whatever its address: the operator named this very host."""

    def covers(self, host: str, port: int) -> bool:
        if port != self.port:
            return False
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        return self.host in ("*", host)


@dataclass(frozen=True)
class Opened:
    """A network that is not public and may be reached nevertheless, on one port or on all."""

    network: Network
    port: int | None = None

    def permits(self, address: Address, port: int) -> bool:
        return address in self.network and self.port in (None, port)


@dataclass(frozen=True)
class Rules:
    listed: tuple[Rule, ...] = ()
    opened: tuple[Opened, ...] = ()

    def plus(self, *more: Rule) -> "Rules":
        return Rules((*self.listed, *more), self.opened)

    def rule_for(self, host: str, port: int) -> Rule:
        name = host.rstrip(".").lower()
        covering = [rule for rule in self.listed if rule.covers(name, port)]
        if not covering:
            raise Refused(f"{host}:{port}: it is not on the egress list")
        return max(covering, key=lambda rule: rule.anywhere)

    def permitted(self, rule: Rule, host: str, port: int, found: Iterable[Address]) -> list[Address]:
        addresses = [
            address
            for address in found
            if rule.anywhere
            or is_public(address)
            or any(opened.permits(address, port) for opened in self.opened)
        ]
        if not addresses:
            raise Refused(f"{host}:{port}: its address is not public")
        return addresses


def read_rules(text: str) -> tuple[Rule, ...]:
    """`registry.example.com, *.example.org:8443`; the port is 443 unless it is said."""
    return tuple(_rule(part.strip()) for part in text.split(",") if part.strip())


def read_networks(text: str) -> tuple[Opened, ...]:
    """`10.1.0.0/16, 192.0.2.7/32:8080`; raises ValueError for anything else, host bits included."""
    return tuple(_opened(part.strip()) for part in text.split(",") if part.strip())


def _rule(text: str) -> Rule:
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = text, "443"
    if not host or ("*" in host.removeprefix("*.") and host != "*"):
        raise ValueError(f"{text} is no host with a port")
    return Rule(host.lower(), _port(port))


def _opened(text: str) -> Opened:
    network, slash, length = text.partition("/")
    length, colon, port = length.partition(":")
    if not slash:
        raise ValueError(f"{text} is no network: say how long its prefix is")
    return Opened(ip_network(f"{network}/{length}"), _port(port) if colon else None)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise ValueError(f"{text} is no port")
    return int(text)
