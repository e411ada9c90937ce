"""The addresses of the platform that this node knows: its own, those of other edges, and that of NATS. The
operator adds those of the control plane and its engines (`STEAD_PLATFORM_NETWORKS`)."""

import socket
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from urllib.parse import urlsplit

from stead.node.drivers.layout import edge_store
from stead.node.feed.record_store import peer_addresses
from stead.node.settings import Settings
from stead.shared.address_policy import Address

_ROUTES = Path("/proc/net/fib_trie")
_INTERFACES_V6 = Path("/proc/net/if_inet6")


def find_platform_addresses(settings: Settings) -> frozenset[Address]:
    """Blocks while it resolves names."""
    hosts = {urlsplit(url.strip()).hostname or "" for url in settings.nats_url.split(",")}
    edges = [settings.edge_address, settings.peer_address, *peer_addresses(edge_store(settings.data))]
    hosts |= {address.rpartition(":")[0] for address in edges}
    return frozenset({*own_addresses(), *_resolve(hosts)})


def own_addresses() -> set[Address]:
    """The addresses of this host's interfaces."""
    found: set[Address] = set()
    candidate = ""
    for line in _read_lines(_ROUTES):
        if "|--" in line:
            candidate = line.split()[-1]
        elif "/32 host LOCAL" in line:
            found.add(ip_address(candidate))
    found |= {IPv6Address(bytes.fromhex(line.split()[0])) for line in _read_lines(_INTERFACES_V6)}
    return found


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        # A host without IPv6 has no such file.
        return []


def _resolve(hosts: Iterable[str]) -> set[Address]:
    found: set[Address] = set()
    for host in filter(None, hosts):
        try:
            answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError:
            continue
        found |= {ip_address(str(each[0])) for *_, each in answers}
    return found
