"""Looks up host names without blocking, and without threads that slow name servers could occupy."""

import asyncio
import time
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import dns.asyncresolver
import dns.exception
import dns.resolver

from stead.control.engines.transaction_guard import require_no_transaction

Address = IPv4Address | IPv6Address

LOOKUP_SECONDS = 6.0
READ_AGAIN_SECONDS = 60.0
"""How long the settings of the system are used before they are read again."""
DNS_PORT = 53
HOSTS = Path("/etc/hosts")


class NameUnresolved(Exception):
    """The name servers gave no address, or did not answer in time."""


class Resolver:
    """`address` is `host:port` of a name server; the default is what the system is configured to use."""

    def __init__(self, address: str = "") -> None:
        self._address = address
        self._resolver: dns.asyncresolver.Resolver | None = None
        self._hosts: dict[str, list[Address]] = {}
        self._read_at = -READ_AGAIN_SECONDS

    async def addresses(self, host: str) -> list[Address]:
        """All addresses of a host. A trailing dot is added: the search domains of the system do not apply."""
        require_no_transaction("the DNS")
        resolver = self._configured()
        if host in self._hosts:
            return self._hosts[host]
        answers = await asyncio.gather(
            *(
                resolver.resolve(
                    f"{host.rstrip('.')}.", kind, raise_on_no_answer=False, lifetime=LOOKUP_SECONDS
                )
                for kind in ("A", "AAAA")
            ),
            return_exceptions=True,
        )
        found: list[Address] = []
        for answer in answers:
            if isinstance(answer, dns.resolver.Answer):
                found += [ip_address(record.address) for record in answer.rrset or ()]
            elif not isinstance(answer, (dns.exception.DNSException, OSError)):
                raise answer
        if not found:
            raise NameUnresolved
        return list(dict.fromkeys(found))

    def _configured(self) -> dns.asyncresolver.Resolver:
        now = time.monotonic()
        if self._resolver is None or now - self._read_at > READ_AGAIN_SECONDS:
            self._read_at = now
            self._resolver = create_resolver(self._address)
            self._hosts = {} if self._address else _read_hosts()
        return self._resolver


def create_resolver(address: str) -> dns.asyncresolver.Resolver:
    if not address:
        try:
            return dns.asyncresolver.Resolver()
        except dns.resolver.NoResolverConfiguration:
            raise NameUnresolved from None
    host, separator, port = address.rpartition(":")
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers = [host if separator else address]
    resolver.port = int(port) if separator else DNS_PORT
    return resolver


def _read_hosts() -> dict[str, list[Address]]:
    """The names of the hosts file, in which operators list servers of their own."""
    found: dict[str, list[Address]] = {}
    try:
        lines = HOSTS.read_text(errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        address, *names = line.partition("#")[0].split() or [""]
        try:
            parsed = ip_address(address)
        except ValueError:
            continue
        for name in names:
            found.setdefault(name.lower(), []).append(parsed)
    return found
