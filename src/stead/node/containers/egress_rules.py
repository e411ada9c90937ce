"""What a container may connect to: listed hosts and ports, at addresses of the public internet or of networks
that the operator allowed."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_network

from stead.shared.address_policy import Address, Network, is_public


class EgressRefused(Exception):
    """The message names the target and the reason."""


@dataclass(frozen=True)
class HostRule:
    """An allowed host. `*.example.com` is every name below it; `*` is every name."""

    host: str
    port: int = 443
    any_address: bool = False
    """Allowed whatever its address is, because the operator named this host."""

    def covers(self, host: str, port: int) -> bool:
        if port != self.port:
            return False
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        return self.host in ("*", host)


@dataclass(frozen=True)
class AllowedNetwork:
    """A network that is not public and may be reached nevertheless, on one port or on all."""

    network: Network
    port: int | None = None

    def permits(self, address: Address, port: int) -> bool:
        return address in self.network and self.port in (None, port)


@dataclass(frozen=True)
class EgressRules:
    hosts: tuple[HostRule, ...] = ()
    networks: tuple[AllowedNetwork, ...] = ()

    def plus(self, *more: HostRule) -> "EgressRules":
        return EgressRules((*self.hosts, *more), self.networks)

    def rule_for(self, host: str, port: int) -> HostRule:
        name = host.rstrip(".").lower()
        covering = [rule for rule in self.hosts if rule.covers(name, port)]
        if not covering:
            raise EgressRefused(f"{host}:{port}: it is not on the egress list")
        return max(covering, key=lambda rule: rule.any_address)

    def permitted(self, rule: HostRule, host: str, port: int, found: Iterable[Address]) -> list[Address]:
        """Those of the host's addresses that may be dialled."""
        addresses = [
            address
            for address in found
            if rule.any_address
            or is_public(address)
            or any(network.permits(address, port) for network in self.networks)
        ]
        if not addresses:
            raise EgressRefused(f"{host}:{port}: its address is not public")
        return addresses


def read_host_rules(text: str) -> tuple[HostRule, ...]:
    """Parse `registry.example.com, *.example.org:8443`; the default port is 443."""
    return tuple(_host_rule(part.strip()) for part in text.split(",") if part.strip())


def read_networks(text: str) -> tuple[AllowedNetwork, ...]:
    """Parse `10.1.0.0/16, 192.0.2.7/32:8080`; anything else, host bits included, raises ValueError."""
    return tuple(_network(part.strip()) for part in text.split(",") if part.strip())


def _host_rule(text: str) -> HostRule:
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = text, "443"
    if not host or ("*" in host.removeprefix("*.") and host != "*"):
        raise ValueError(f"{text} is no host with a port")
    return HostRule(host.lower(), _port(port))


def _network(text: str) -> AllowedNetwork:
    network, slash, length = text.partition("/")
    length, colon, port = length.partition(":")
    if not slash:
        raise ValueError(f"{text} is no network: it has no prefix length")
    return AllowedNetwork(ip_network(f"{network}/{length}"), _port(port) if colon else None)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise ValueError(f"{text} is no port")
    return int(text)
