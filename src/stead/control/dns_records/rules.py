"""What a DNS record is, and which records are valid together. No I/O."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from stead.control.domains.names import WWW, get_registrable_domain
from stead.control.http.modes import ModeBound
from stead.control.http.visibility import Governance, Governed
from stead.shared.errors import Conflict, NotFound, QuotaExceeded
from stead.shared.roles import Role

RecordType = Literal["A", "AAAA", "CNAME", "MX", "TXT", "SRV", "CAA", "NS"]
Delegation = Literal["unknown", "none", "partial", "complete"]
DEFAULT_TTL, MIN_TTL, MAX_TTL = 300, 60, 86_400
MAX_RECORDS = 500
MAX_OF_NAME, MAX_BYTES_OF_NAME = 50, 32 << 10
"""Of one name and type: the answer and its signature must fit into a message, which has 64 KiB."""
RETRY_AFTER = timedelta(seconds=15)
"""When a zone that could not be published is tried again."""
LEASE = timedelta(minutes=5)
"""Longer than a batch of zones can take: two workers that publish one zone could leave its older records."""
CHECK_SOON, CHECK_LATER = timedelta(minutes=5), timedelta(hours=6)
"""When the delegation of a domain is looked up again: while it is missing, and once it is there."""
PROVE_AGAIN = timedelta(minutes=2)
"""When the TXT record of a domain that is verified without it is looked up again."""
WITH_PRIORITY: frozenset[str] = frozenset({"MX", "SRV"})
CHALLENGE_LABEL = "_acme-challenge"
"""Names that begin with it are of the platform: whoever writes there gets certificates."""
CHALLENGE_TTL = 60
CHALLENGES_KEPT = timedelta(hours=1)
"""Longer than an attempt to get a certificate can take. One that is older was left by a worker that died."""
ADDRESSES: frozenset[str] = frozenset({"A", "AAAA", "CNAME"})
"""What a name has only once: either the platform or the customer says where it is."""
_DIRECT: frozenset[str] = frozenset({"MX", "NS"})


class RecordNotFound(NotFound):
    code = "dns_record.not_found"
    message = "The DNS record was not found."
    remedy = "List the records of the site with `GET …/dns/records`."


class RecordExists(Conflict):
    code = "dns_record.exists"
    message = "The site already has this record."
    remedy = "Change the existing record, or leave it as it is."


class RecordConflicts(Conflict):
    code = "dns_record.conflicts"
    message = "The record cannot be there: {reason}"
    remedy = "Remove what the message names first, or choose another name."


class ZoneTaken(Conflict):
    code = "dns.zone_taken"
    message = "Another site has proved the domain {zone}."
    remedy = "Manage the records of the domain at that site."


class ZonesUnavailable(Conflict):
    code = "dns.unavailable"
    message = "This installation serves no DNS zones."
    remedy = "Manage the records where the domain is registered. The operator can add a name server."


class RecordsExhausted(QuotaExceeded):
    code = "quota.dns_records"
    message = "The site has {limit} DNS records, which is the limit."
    remedy = "Delete records that are not needed."


@dataclass(frozen=True, slots=True)
class VisibleRecord(Governed, ModeBound):
    """A record of a site that the caller can see."""

    id: str
    site_id: str
    team_id: str | None
    role: Role
    type: RecordType
    name: str
    value: str
    ttl: int
    priority: int | None

    def governance(self) -> Governance:
        return Governance(self.role, self.team_id, self.site_id)


@dataclass(frozen=True, slots=True)
class Record:
    """Normalized: `name` is complete, without a dot at its end."""

    type: str
    name: str
    value: str
    ttl: int
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Zone:
    """The zone of a site. Only zones of live sites are published."""

    name: str
    published_version: int
    delegation: Delegation

    @property
    def is_published(self) -> bool:
        return self.published_version > 0

    def contains(self, name: str) -> bool:
        return name == self.name or name.endswith(f".{self.name}")


def zone_of(domain: str) -> str:
    """Without `www`, unless anybody can register names in the rest."""
    rest = domain.removeprefix(WWW)
    return domain if get_registrable_domain(rest) is None else rest


def find_delegation(found: Collection[str], own: Collection[str]) -> Delegation:
    """Whose name servers the domain has: none of ours, ours and others, or ours only."""
    ours = set(own) & set(found)
    if not ours:
        return "none"
    return "complete" if ours == set(found) else "partial"


def require_compatible(record: Record, others: Sequence[Record], own_hosts: Collection[str]) -> None:
    """`others` are the other records of the zone; `own_hosts` the names that the platform serves."""
    if record.name.partition(".")[0] == CHALLENGE_LABEL:
        raise RecordConflicts(
            reason=f"names that begin with {CHALLENGE_LABEL} are for the certificates of the platform."
        )
    if record.type in ADDRESSES and record.name in own_hosts:
        raise RecordConflicts(
            reason=f"{record.name} is a domain of the site, so the platform itself has its addresses."
        )
    same = [each for each in others if each.name == record.name]
    if record.type == "CNAME" and same:
        raise RecordConflicts(reason=f"{record.name} has a {same[0].type} record, and a CNAME must be alone.")
    if any(each.type == "CNAME" for each in same):
        raise RecordConflicts(reason=f"{record.name} has a CNAME record, which must be alone.")
    if any(_is_same(each, record) for each in same):
        raise RecordExists
    _require_answerable([record, *(each for each in same if each.type == record.type)])
    _require_not_delegated(record, others)
    if record.type == "NS":
        _require_free_below(record.name, others, own_hosts)
    _require_direct_targets(record, others)


def _require_answerable(records: Sequence[Record]) -> None:
    """All of one name and type are in one answer."""
    size = sum(len(each.value.encode()) for each in records)
    if len(records) > MAX_OF_NAME or size > MAX_BYTES_OF_NAME:
        limits = f"{MAX_OF_NAME} records and {MAX_BYTES_OF_NAME >> 10} KiB"
        raise RecordConflicts(
            reason=f"{records[0].name} would have too many {records[0].type} records. There may be {limits}."
        )


def _is_same(one: Record, other: Record) -> bool:
    """Records of one name and type share a TTL, so another TTL makes no other record."""
    return (one.type, one.value, one.priority) == (other.type, other.value, other.priority)


def _require_direct_targets(record: Record, others: Sequence[Record]) -> None:
    """Mail and delegations go to addresses, never to an alias."""
    aliases = {each.name for each in others if each.type == "CNAME"}
    if record.type in _DIRECT and record.value in aliases:
        raise RecordConflicts(
            reason=f"{record.value} has a CNAME record, and {record.type} needs an address."
        )
    if record.type == "CNAME":
        for each in others:
            if each.type in _DIRECT and each.value == record.name:
                raise RecordConflicts(
                    reason=f"the {each.type} record of {each.name} names it, and needs an address."
                )


def _require_not_delegated(record: Record, others: Sequence[Record]) -> None:
    for parent in {each.name for each in others if each.type == "NS"}:
        if record.name.endswith(f".{parent}") or (record.name == parent and record.type != "NS"):
            raise RecordConflicts(reason=f"{parent} is delegated to other name servers.")


def _require_free_below(name: str, others: Sequence[Record], own_hosts: Collection[str]) -> None:
    """What is delegated is answered by others."""
    if any(each.name.endswith(f".{name}") or (each.name == name and each.type != "NS") for each in others):
        raise RecordConflicts(reason=f"there are records at or below {name}.")
    if any(host == name or host.endswith(f".{name}") for host in own_hosts):
        raise RecordConflicts(reason="a domain of the site is there.")
