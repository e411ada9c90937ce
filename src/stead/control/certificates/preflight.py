"""Checks in the DNS where a host points before a certificate is ordered for it."""

import ipaddress

from stead.control.certificates.rules import Problem
from stead.control.engines.dns import Address
from stead.control.engines.dns_records import DnsRecords, DnsUnanswered

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Preflight:
    """Compares the addresses of hosts with those of the edges.

    `addresses` lists the edges' addresses or networks, separated by commas; `region=address` applies to one
    region only. If it is empty, every host passes. `resolver` is `host:port`; the default is the system's.
    """

    def __init__(self, addresses: str, resolver: str = "") -> None:
        self._edges = [_parse_edge(each.strip()) for each in addresses.split(",") if each.strip()]
        self._resolver = DnsRecords(resolver) if self._edges else None

    def knows_addresses(self, region: str) -> bool:
        """Whether the addresses of the region's edges are known."""
        return any(only in (None, region) for only, _ in self._edges)

    def list_addresses(self, region: str) -> list[Address]:
        """The single addresses of the region's edges. Which addresses of a network they use is not known."""
        return [
            network.network_address
            for only, network in self._edges
            if only in (None, region) and network.num_addresses == 1
        ]

    async def check(self, host: str, region: str) -> None:
        """Raise a Problem unless all addresses of the host belong to the region's edges.

        One correct address is not enough: an authority may connect to any of them.
        """
        expected = [network for only, network in self._edges if only in (None, region)]
        if self._resolver is None or not expected:
            return
        found = await _look_up(self._resolver, host)
        wrong = [each for each in found if not any(each in network for network in expected)]
        if found and not wrong:
            return
        target = _join([_format_network(network) for network in expected], "or")
        if not found:
            raise Problem("dns", f"{host} has no address in the DNS. Add an A record for {target}.")
        kinds = sorted({"A" if each.version == 4 else "AAAA" for each in wrong})
        records = f"its {' and '.join(kinds)} record{'s' if len(wrong) > 1 else ''}"
        remedy = (
            f"Point {records} to {target}."
            if len(wrong) == len(found)
            else f"Remove {records} with this address: {host} must point to {target} only."
        )
        raise Problem("dns", f"{host} points to {_join([str(each) for each in wrong], 'and')}. {remedy}")


async def _look_up(resolver: DnsRecords, host: str) -> list[Address]:
    try:
        return await resolver.find_addresses(host)
    except DnsUnanswered:
        raise Problem(
            "dns_unanswered",
            f"The addresses of {host} could not be looked up: its name servers do not answer, or answer with"
            " an error. Check the name servers with your DNS provider.",
        ) from None


def _parse_edge(text: str) -> tuple[str | None, Network]:
    region, separator, address = text.rpartition("=")
    return (region if separator else None), ipaddress.ip_network(address, strict=False)


def _format_network(network: Network) -> str:
    return str(network.network_address if network.num_addresses == 1 else network)


def _join(words: list[str], conjunction: str) -> str:
    *others, last = words
    return f"{', '.join(others)} {conjunction} {last}" if others else last
