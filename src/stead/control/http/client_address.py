"""The client address of a request: the peer, or the address that a trusted proxy reports."""

from collections.abc import Iterable
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network

from stead.control.http.principal import Address, Network

LOOPBACK = ip_address("127.0.0.1")


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parse exact addresses and CIDRs. Raises ValueError for anything else, including host bits."""
    return tuple(ip_network(text) for text in texts)


def client_address(peer: str | None, forwarded_for: str, proxies: tuple[Network, ...]) -> Address:
    """The last address in `X-Forwarded-For` that is not a trusted proxy. Those before it can be forged."""
    address = parse_address(peer) or LOOPBACK
    for hop in reversed(forwarded_for.split(",")):
        if not any(address in proxy for proxy in proxies):
            break
        forwarded = parse_address(hop.strip())
        if forwarded is None:
            break
        address = forwarded
    return address


def network_of(address: Address) -> str:
    """What limits are counted by: an IPv4 address, or the /64 network of an IPv6 address, because one client
    usually has a whole /64."""
    return str(IPv6Network((address, 64), strict=False) if isinstance(address, IPv6Address) else address)


def wide_network_of(address: Address) -> str:
    """The /24 network of an IPv4 address, or the /48 of an IPv6 address: one customer of a provider may have
    thousands of the networks that limits are counted by."""
    bits = 48 if isinstance(address, IPv6Address) else 24
    return str(ip_network(f"{address}/{bits}", strict=False))


def parse_address(text: str | None) -> Address | None:
    """None if the text is no address. An IPv4 address that is mapped to IPv6 is returned as IPv4."""
    try:
        address = ip_address(text or "")
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
