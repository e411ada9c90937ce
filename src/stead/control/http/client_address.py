"""Where a request came from: the peer, or what a trusted proxy says of it."""

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address, ip_network

from stead.control.http.principal import Address, Network

LOOPBACK = ip_address("127.0.0.1")


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Exact addresses and CIDRs. Raises ValueError for anything else, host bits included."""
    return tuple(ip_network(text) for text in texts)


def client_address(peer: str | None, forwarded_for: str, proxies: tuple[Network, ...]) -> Address:
    """The nearest address that is not a trusted proxy, read from the right: the left part can be forged."""
    address = _parse(peer) or LOOPBACK
    for hop in reversed(forwarded_for.split(",")):
        if not any(address in proxy for proxy in proxies):
            break
        nearer = _parse(hop.strip())
        if nearer is None:
            break
        address = nearer
    return address


def _parse(text: str | None) -> Address | None:
    try:
        address = ip_address(text or "")
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
