"""Reads DNS records of customers' domains, bounded in time.

A record that does not exist and name servers that do not answer are different findings.
"""

import asyncio
from ipaddress import ip_address
from typing import Any

import dns.exception
import dns.resolver

from stead.control.engines.dns import Address, NameUnresolved, create_resolver
from stead.control.engines.transaction_guard import require_no_transaction

LOOKUP_SECONDS = 8.0


class DnsUnanswered(Exception):
    """The name servers do not answer, or answer with an error."""


class DnsRecords:
    """`resolver` is `host:port` of a name server; the default is what the system is configured to use."""

    def __init__(self, resolver: str = "") -> None:
        self._address = resolver

    async def find_addresses(self, host: str) -> list[Address]:
        """The IPv4 and IPv6 addresses of a host; none if it does not exist."""
        answers = await asyncio.gather(*(self._resolve(host, kind) for kind in ("A", "AAAA")))
        return [ip_address(record.address) for answer in answers for record in answer]

    async def find_texts(self, name: str) -> list[str]:
        """The values of the TXT records of a name."""
        records = await self._resolve(name, "TXT")
        return [b"".join(record.strings).decode("ascii", "replace") for record in records]

    async def find_nameservers(self, domain: str) -> list[str]:
        """The name servers of a domain, in lower case and without a dot at the end."""
        records = await self._resolve(domain, "NS")
        return [record.target.to_text(omit_final_dot=True).lower() for record in records]

    async def _resolve(self, name: str, kind: str) -> list[Any]:
        require_no_transaction("the DNS")
        try:
            answer = await create_resolver(self._address).resolve(
                f"{name}.", kind, raise_on_no_answer=False, lifetime=LOOKUP_SECONDS
            )
        except dns.resolver.NXDOMAIN:
            return []
        except (dns.exception.DNSException, OSError, NameUnresolved):
            raise DnsUnanswered from None
        return list(answer) if answer.rrset is not None else []
