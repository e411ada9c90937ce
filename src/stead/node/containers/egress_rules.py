"""What a container may connect to: listed hosts and ports, at addresses of the public internet or of networks
that the operator allowed."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from ipaddress import ip_network

from stead.shared.address_policy import Address, Network, is_public

SSH_PORT = 22


class EgressRefused(Exception):
    """The message names the target and the reason."""


@dataclass(frozen=True)
class HostRule:
    """An allowed host. `*.example.com` is every name below it; `*` is every name."""

    host: str
    port: int = 443
    any_address: bool = False
    """Allowed whatever its address is, because the operator named this host."""
    ssh: bool = False
    """A tunnel to it may carry ssh, also if its port is not that of ssh."""

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
    platform: Collection[Address] = frozenset()
    """The addresses of nodes, edges, the control plane and its engines: they trust requests from a node. Only
    a host or a port of a network that the operator named is reached there."""
    platform_networks: tuple[Network, ...] = ()

    def plus(self, *more: HostRule) -> "EgressRules":
        return replace(self, hosts=(*self.hosts, *more))

    def without_port(self, port: int) -> "EgressRules":
        return replace(
            self,
            hosts=tuple(rule for rule in self.hosts if rule.port != port),
            networks=tuple(network for network in self.networks if network.port != port),
        )

    def names_port(self, port: int) -> bool:
        """Whether the operator allowed this port in one of the networks."""
        return any(network.port == port for network in self.networks)

    def allows_ssh(self, host: str, port: int) -> bool:
        name = host.rstrip(".").lower()
        return port == SSH_PORT or any(rule.ssh for rule in self.hosts if rule.covers(name, port))

    def rule_for(self, host: str, port: int) -> HostRule:
        name = host.rstrip(".").lower()
        covering = [rule for rule in self.hosts if rule.covers(name, port)]
        if not covering:
            raise EgressRefused(f"{host}:{port}: it is not on the egress list")
        return max(covering, key=lambda rule: rule.any_address)

    def permitted(self, rule: HostRule, host: str, port: int, found: Iterable[Address]) -> list[Address]:
        """Those of the host's addresses that may be dialled."""
        candidates = list(found)
        addresses = [address for address in candidates if self._permits(rule, address, port)]
        if not addresses:
            ours = any(self._is_platform(address) for address in candidates)
            reason = "its address is one of the platform" if ours else "its address is not public"
            raise EgressRefused(f"{host}:{port}: {reason}")
        return addresses

    def _permits(self, rule: HostRule, address: Address, port: int) -> bool:
        allowed = [network for network in self.networks if network.permits(address, port)]
        if rule.any_address or any(network.port == port for network in allowed):
            return True
        return not self._is_platform(address) and (is_public(address) or bool(allowed))

    def _is_platform(self, address: Address) -> bool:
        return address in self.platform or any(address in network for network in self.platform_networks)


def read_host_rules(text: str) -> tuple[HostRule, ...]:
    """Parse `registry.example.com, *.example.org:8443`; the default port is 443."""
    return tuple(_host_rule(part.strip()) for part in text.split(",") if part.strip())


def read_networks(text: str) -> tuple[AllowedNetwork, ...]:
    """Parse `10.1.0.0/16, 192.0.2.7/32:8080`; anything else, host bits included, raises ValueError."""
    return tuple(_network(part.strip()) for part in text.split(",") if part.strip())


def read_plain_networks(text: str) -> tuple[Network, ...]:
    """Parse `10.1.0.0/16, 203.0.113.7`; anything else, host bits included, raises ValueError."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


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
