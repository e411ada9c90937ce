"""Looks a name up in the DNS, and says whether its owner has proved it and what was found."""

from dataclasses import dataclass

from stead.control.certificates.preflight import Preflight
from stead.control.certificates.rules import Problem
from stead.control.domains.rules import Claim, challenge_name
from stead.control.engines.dns_records import DnsRecords, DnsUnanswered

MAX_QUOTED_RECORDS = 3
MAX_QUOTED_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """`by_record`: the TXT record was found. `reason` says what is missing, for the owner."""

    is_proved: bool
    by_record: bool = False
    reason: str = ""


class ProofChecker:
    """`addresses` are those of the edges, as for certificates. Without any, only TXT records prove names."""

    def __init__(self, addresses: str, resolver: str = "") -> None:
        self._preflight, self._resolver = Preflight(addresses, resolver), DnsRecords(resolver)

    async def check(self, claim: Claim, challenge_needed: str | None) -> Finding:
        """`challenge_needed` says why only the TXT record proves the name; None if pointing here does too."""
        record = challenge_name(claim.hostname)
        try:
            texts = await self._resolver.find_texts(record)
        except DnsUnanswered:
            texts, found = [], f"The TXT records of {record} could not be looked up."
        else:
            found = f"{record} has {_quote(texts)}."
        if any(text.strip() == claim.challenge for text in texts):
            return Finding(True, by_record=True)
        remedy = f"Add the TXT record {claim.challenge} at {record}."
        if challenge_needed is not None:
            reason = f"{claim.hostname} has to be proved by a TXT record, because {challenge_needed}."
            return Finding(False, reason=f"{reason} {found} {remedy}")
        if not self._preflight.knows_addresses(claim.region):
            return Finding(False, reason=f"{found} {remedy}")
        try:
            await self._preflight.check(claim.hostname, claim.region)
        except Problem as problem:
            return Finding(
                False, reason=f"{problem.message} To prove the name before it points here: {remedy}"
            )
        return Finding(True)


def _quote(texts: list[str]) -> str:
    """What a name server returned, in one line and a bounded length."""
    if not texts:
        return "no TXT record"
    shown = [" ".join(text.split())[:MAX_QUOTED_LENGTH] for text in texts[:MAX_QUOTED_RECORDS]]
    more = f" and {len(texts) - len(shown)} more" if len(texts) > len(shown) else ""
    return f"the TXT record{'s' if len(texts) > 1 else ''} {', '.join(repr(text) for text in shown)}{more}"
