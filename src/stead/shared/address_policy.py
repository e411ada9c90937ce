"""The policy for outgoing connections: only public addresses, and networks that the operator allows.

Callers resolve a name once, check every address, and connect to a checked address. So a name that resolves
to another address a moment later (DNS rebinding) does no harm.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NOT_PUBLIC: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; a cloud's metadata service is in it
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's host, reachable only from its virtual machines
        "169.254.0.0/16",  # link-local; most clouds' metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; another metadata service
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "2001::/23",  # protocol assignments, Teredo, ORCHID
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_UNICAST = ip_network("2000::/3")
"""IPv6 addresses outside this network are loopback, mapped or translated IPv4, local, multicast or
unassigned."""
_ISATAP = 0x0000_5EFE
_LOCAL_BIT = 0x0200_0000


def is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        if address not in _UNICAST or address.scope_id is not None:
            return False
        if (int(address) >> 32) & 0xFFFF_FFFF & ~_LOCAL_BIT == _ISATAP:
            return False
    return address.is_global and not any(address in network for network in _NOT_PUBLIC)


class AddressPolicy:
    """`allowed` are networks of the operator that may be reached although they are not public."""

    def __init__(self, allowed: tuple[Network, ...] = ()) -> None:
        self._allowed = allowed

    def permits(self, address: Address) -> bool:
        return is_public(address) or any(address in network for network in self._allowed)
