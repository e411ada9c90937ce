"""Asks the DNS where a host leads, before a certificate authority is troubled with it."""

import asyncio
import ipaddress

import dns.asyncresolver
import dns.exception
import dns.resolver

from stead.control.certificates.rules import Problem

SECONDS = 8.0
DNS_PORT = 53

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Preflight:
    """`addresses` are those of the edges, comma-separated, networks too; `region=address` counts for one
    region only. Without any, every host passes. `resolver` is `host:port`, or nothing for the system's."""

    def __init__(self, addresses: str, resolver: str = "") -> None:
        self._edges = [_edge(each.strip()) for each in addresses.split(",") if each.strip()]
        self._resolver = _resolver(resolver) if self._edges else None

    async def check(self, host: str, region: str) -> None:
        """Raises a Problem unless every address of the host is one of the region's: an authority may ask
        any of them."""
        ours = [network for where, network in self._edges if where in (None, region)]
        if self._resolver is None or not ours:
            return
        found = await self._addresses(self._resolver, host)
        strange = [each for each in found if not any(each in network for network in ours)]
        if found and not strange:
            return
        wanted = _listed([_plain(network) for network in ours])
        if not found:
            raise Problem("dns", f"{host} leads nowhere. Give it an A record that leads to {wanted}.")
        kinds = sorted({"A" if each.version == 4 else "AAAA" for each in strange})
        what = f"its {' and '.join(kinds)} record{'s' if len(strange) > 1 else ''}"
        way_out = (
            f"Let {what} lead to {wanted}."
            if len(strange) == len(found)
            else f"Remove {what} with that address: {host} must lead to {wanted} alone."
        )
        raise Problem("dns", f"{host} leads to {_listed([str(each) for each in strange])}. {way_out}")

    async def _addresses(
        self, resolver: dns.asyncresolver.Resolver, host: str
    ) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
        try:
            answers = await asyncio.gather(
                *(
                    resolver.resolve(f"{host}.", kind, raise_on_no_answer=False, lifetime=SECONDS)
                    for kind in ("A", "AAAA")
                )
            )
        except dns.resolver.NXDOMAIN:
            return []
        except (dns.exception.DNSException, OSError):
            raise Problem(
                "dns_unanswered",
                f"The DNS did not say where {host} leads: its name servers do not answer, or with an error."
                " Look at them with whoever runs your DNS.",
            ) from None
        records = [record for answer in answers if answer.rrset is not None for record in answer]
        return [ipaddress.ip_address(record.address) for record in records]


def _edge(text: str) -> tuple[str | None, Network]:
    region, mark, address = text.rpartition("=")
    return (region if mark else None), ipaddress.ip_network(address, strict=False)


def _resolver(where: str) -> dns.asyncresolver.Resolver:
    resolver = dns.asyncresolver.Resolver(configure=not where)
    if where:
        host, mark, port = where.rpartition(":")
        resolver.nameservers = [host if mark else where]
        resolver.port = int(port) if mark else DNS_PORT
    return resolver


def _plain(network: Network) -> str:
    return str(network.network_address if network.num_addresses == 1 else network)


def _listed(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
