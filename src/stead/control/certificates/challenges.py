"""Publishes the proofs that an authority asks for: at the edges, or in the DNS zone of the site.

Only a proof in the DNS counts for a wildcard. Each has a key, which is recorded before it is published, so
that any worker can withdraw it.
"""

import asyncio

from stead.control.certificates.edge_publisher import EdgePublisher, region_of
from stead.control.certificates.rules import ClaimedCertificate, Problem
from stead.control.dns_records import zones
from stead.control.domains.names import get_base, is_wildcard
from stead.control.engines.postgres import Database
from stead.protocol.edge_records import ChallengeRecord, challenge_key

_IN_ZONE = "zone:"
PUBLISH_SECONDS, POLL_SECONDS = 30.0, 0.2
"""Zones are published by another task, within seconds."""


class Challenges:
    def __init__(self, database: Database, publisher: EdgePublisher) -> None:
        self._database, self._publisher = database, publisher

    async def require_zone(self, claimed: ClaimedCertificate) -> None:
        """A wildcard without a zone costs no order. Raises Problem."""
        async with self._database.reading() as tx:
            zone = await zones.find_zone(tx, claimed.site_id)
        if zone is None or not zone.is_published or not zone.contains(get_base(claimed.host)):
            raise _no_zone(claimed.host)

    def key_of(self, claimed: ClaimedCertificate, token: str) -> str:
        if is_wildcard(claimed.host):
            return f"{_IN_ZONE}{claimed.host}"
        return challenge_key(claimed.region, token)

    async def publish(self, claimed: ClaimedCertificate, key: str, proof: str) -> None:
        """Return when the authority can find the proof. Raises Problem or EdgesNotUpdated."""
        if key.startswith(_IN_ZONE):
            await self._publish_in_zone(claimed, proof)
        else:
            await self._publisher.publish(claimed.region, {key: ChallengeRecord(claimed.host, proof)})

    async def withdraw(self, key: str) -> None:
        """Raises EdgesNotUpdated. From a zone, it is removed within seconds after this."""
        if key.startswith(_IN_ZONE):
            async with self._database.transaction() as tx:
                await zones.remove_challenge(tx, key.removeprefix(_IN_ZONE))
        else:
            await self._publisher.publish(region_of(key), {key: None})

    async def _publish_in_zone(self, claimed: ClaimedCertificate, proof: str) -> None:
        base = get_base(claimed.host)
        async with self._database.transaction() as tx:
            version = await zones.add_challenge(tx, claimed.site_id, base, claimed.host, proof)
        if version is None:
            raise _no_zone(claimed.host)
        try:
            async with asyncio.timeout(PUBLISH_SECONDS):
                while not await self._is_published(claimed.site_id, version):  # noqa: ASYNC110
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            raise Problem(
                "zone",
                f"The DNS zone with {base} could not be published in time. The request is retried.",
            ) from None

    async def _is_published(self, site: str, version: int) -> bool:
        async with self._database.reading() as tx:
            return await zones.is_published(tx, site, version)


def _no_zone(host: str) -> Problem:
    return Problem(
        "zone",
        f"{get_base(host)} is in no DNS zone that this platform serves for the site, and the certificate of"
        f" {host} is proved there. Attach the domain of the zone again, and prove it with its TXT record.",
    )
