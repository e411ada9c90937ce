"""One delivery attempt: sign the event, post it to the endpoint, and derive the result."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from stead.control.sealing import SealBroken, Sealer
from stead.control.webhooks import service, signing, urls
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.connection import RequestFailed, Response
from stead.control.webhooks.queue import AttemptResult, ClaimedDelivery
from stead.control.webhooks.responses import excerpt_of, parse_retry_after
from stead.control.webhooks.rules import retry_delay
from stead.control.webhooks.schema import Envelope
from stead.shared.clock import Clock

_MAX_CACHED_SECRETS = 5000
_GONE = 410
_FIXED_HEADERS = b"Content-Type: application/json\r\nUser-Agent: Stead-Webhooks/1\r\nAccept: */*\r\n"

_encode = msgspec.json.Encoder().encode


class DeliverySender:
    def __init__(self, client: HttpsClient, sealer: Sealer, clock: Clock) -> None:
        self._client, self._sealer, self._clock = client, sealer, clock
        self._secrets: OrderedDict[tuple[str, bytes], str] = OrderedDict()

    async def attempt(self, delivery: ClaimedDelivery) -> AttemptResult:
        began = time.perf_counter()
        if not delivery.readable:
            reason = "The account may not read this event any more."
            return self._result(delivery, began, None, reason, ())
        try:
            keys = self._signing_secrets(delivery)
            target = urls.parse_target(delivery.url)
        except (SealBroken, urls.InvalidUrl) as unusable:
            reason = f"It cannot be sent: {type(unusable).__name__}."
            return self._result(delivery, began, None, reason, ())
        body = _encode(
            Envelope(
                id=delivery.event_id,
                type=delivery.type,
                site_id=delivery.site_id,
                env_id=delivery.env_id,
                created_at=delivery.created_at,
                data=delivery.data,
            )
        )
        second = int(self._clock().timestamp())
        signed = signing.headers(delivery.id, second, body, [signing.key_of(key) for key in keys])
        try:
            response = await self._client.post(target, _FIXED_HEADERS + signed, body)
        except RequestFailed as failure:
            return self._result(delivery, began, None, str(failure), keys)
        error = None if 200 <= response.status < 300 else f"The answer was {response.status}."
        return self._result(delivery, began, response, error, keys)

    def _signing_secrets(self, delivery: ClaimedDelivery) -> list[str]:
        """The current secret, and for 24 hours after a roll also the previous one."""
        found = [self._unseal(delivery.endpoint_id, delivery.secret)]
        until = delivery.previous_until
        if delivery.previous_secret is not None and until is not None and until > self._clock():
            found.append(self._unseal(delivery.endpoint_id, delivery.previous_secret))
        return found

    def _unseal(self, endpoint: str, sealed: bytes) -> str:
        secret = self._secrets.get((endpoint, sealed))
        if secret is None:
            secret = self._secrets[endpoint, sealed] = service.unseal(self._sealer, endpoint, sealed)
            if len(self._secrets) > _MAX_CACHED_SECRETS:
                self._secrets.popitem(last=False)
        return secret

    def _result(
        self,
        delivery: ClaimedDelivery,
        began: float,
        response: Response | None,
        error: str | None,
        keys: Sequence[str],
    ) -> AttemptResult:
        now = self._clock()
        requested = parse_retry_after(response.retry_after, now) if response and error else None
        delay = retry_delay(delivery.attempts + 1, secrets.randbelow(1000) / 1000, requested)
        retry = error is not None and delay is not None and delivery.readable
        status = response.status if response else None
        return AttemptResult(
            id=delivery.id,
            claim=delivery.claim,
            endpoint_id=delivery.endpoint_id,
            status="delivered" if error is None else "pending" if retry else "failed",
            response_status=status,
            error=error,
            next_attempt_at=now + (delay or timedelta()) if retry else None,
            log_entry={
                "at": now,
                "status": status,
                "duration_ms": round(1000 * (time.perf_counter() - began)),
                "error": error,
                "excerpt": excerpt_of(response.body, keys) if response else None,
            },
            healthy=error is None or not delivery.readable,
            gone=status == _GONE,
        )
