"""PowerDNS over its HTTP API: the zones that this platform serves. The library blocks, so requests run in
threads."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import requests

from stead.control.engines.transaction_guard import require_no_transaction

SECONDS = (3.0, 15.0)
_KEPT = frozenset({"SOA"})
"""PowerDNS itself writes them."""


class PowerDnsFailed(Exception):
    """It cannot be reached, or has refused. The message says what it answered."""


@dataclass(frozen=True, slots=True)
class RecordSet:
    """All records of one name and type. Names end with a dot."""

    name: str
    type: str
    ttl: int
    contents: tuple[str, ...]


class PowerDns:
    def __init__(self, url: str, key: str) -> None:
        self._url, self._headers = f"{url.rstrip('/')}/api/v1/servers/localhost/zones", {"X-API-Key": key}

    async def replace_zone(self, zone: str, sets: Sequence[RecordSet], nameservers: Sequence[str]) -> None:
        """Make the zone contain exactly these records, signed with DNSSEC. Can be repeated."""
        require_no_transaction("PowerDNS")
        await asyncio.to_thread(
            self._replace, _absolute(zone), sets, [_absolute(each) for each in nameservers]
        )

    async def delete_zone(self, zone: str) -> None:
        """Succeeds if there is none."""
        require_no_transaction("PowerDNS")
        await asyncio.to_thread(self._request, "DELETE", f"/{_absolute(zone)}", None, {404})

    def _replace(self, zone: str, sets: Sequence[RecordSet], nameservers: Sequence[str]) -> None:
        found = self._request("GET", f"/{zone}", None, {404})
        if found is None:
            made = {"name": zone, "kind": "Native", "dnssec": True, "nameservers": list(nameservers)}
            self._request("POST", "", {**made, "soa_edit_api": "DEFAULT", "api_rectify": True}, {409})
            found = {"rrsets": []}
        wanted = {(each.name, each.type): each for each in sets}
        wanted[zone, "NS"] = RecordSet(zone, "NS", 3600, tuple(nameservers))
        present = {_read_set(each) for each in found["rrsets"]}
        changed = [_change(each) for each in wanted.values() if _sorted(each) not in present]
        stale = [
            {"name": each["name"], "type": each["type"], "changetype": "DELETE"}
            for each in found["rrsets"]
            if (each["name"], each["type"]) not in wanted and each["type"] not in _KEPT
        ]
        if stale or changed:
            self._request("PATCH", f"/{zone}", {"rrsets": [*stale, *changed]})

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None, accepted: Collection[int] = ()
    ) -> Any:
        """None for an accepted failure."""
        try:
            response = requests.request(
                method,
                f"{self._url}{path}",
                json=body,
                headers=self._headers,
                timeout=SECONDS,
                allow_redirects=False,
            )
            if response.status_code in accepted:
                return None
            if response.status_code // 100 != 2:
                raise PowerDnsFailed(f"{method} was answered {response.status_code}: {response.text[:300]}")
            return response.json() if response.content else {}
        except (requests.RequestException, ValueError) as error:
            raise PowerDnsFailed(type(error).__name__) from None


def _absolute(name: str) -> str:
    return f"{name.rstrip('.')}."


def _read_set(found: Mapping[str, Any]) -> RecordSet:
    contents = tuple(str(each["content"]) for each in found["records"] if not each["disabled"])
    return _sorted(RecordSet(found["name"], found["type"], found["ttl"], contents))


def _sorted(records: RecordSet) -> RecordSet:
    return replace(records, contents=tuple(sorted(records.contents)))


def _change(wanted: RecordSet) -> dict[str, Any]:
    return {
        "name": wanted.name,
        "type": wanted.type,
        "ttl": wanted.ttl,
        "changetype": "REPLACE",
        "records": [{"content": content, "disabled": False} for content in wanted.contents],
    }
