"""Verifies deliveries of webhooks: `event = webhooks.verify(body, headers, secret)`."""

import base64
import binascii
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from stead_sdk.errors import WebhookVerificationError

TOLERANCE_SECONDS = 300


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Iterable[str],
    *,
    tolerance: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> dict[str, Any]:
    """The event of a delivery, if one of the secrets signed it within the last five minutes.

    `body` is the raw body, before any parser. `headers` are those of the request; `Api-Signature` and the
    headers of Standard Webhooks are both accepted. Give two secrets while you replace one.
    """
    given = {name.lower(): value for name, value in headers.items()}
    delivery, second, signatures = _signatures(given)
    if abs((time.time() if now is None else now) - second) > tolerance:
        raise WebhookVerificationError("The delivery is too old, or its time is in the future.")
    signed = b"%b.%d.%b" % (delivery.encode(), second, body)
    secrets = [secret] if isinstance(secret, str) else list(secret)
    wanted = [hmac.digest(_key(each), signed, "sha256") for each in secrets]
    # Every pair is compared, so that the time does not depend on which of them matches.
    matches = [hmac.compare_digest(each, signature) for each in wanted for signature in signatures]
    if not any(matches):
        raise WebhookVerificationError("No secret matches the signature.")
    event = json.loads(body)
    if not isinstance(event, dict):
        raise WebhookVerificationError("The delivery is not an event.")
    return event


def _signatures(headers: Mapping[str, str]) -> tuple[str, int, list[bytes]]:
    try:
        if "api-signature" in headers:
            parts = [part.strip().partition("=") for part in headers["api-signature"].split(",")]
            [second] = [int(value) for name, _, value in parts if name == "t"]
            found = [bytes.fromhex(value) for name, _, value in parts if name == "v1"]
            return headers["api-delivery-id"], second, found
        signatures = [each.partition(",") for each in headers["webhook-signature"].split()]
        found = [base64.b64decode(value, validate=True) for name, _, value in signatures if name == "v1"]
        return headers["webhook-id"], int(headers["webhook-timestamp"]), found
    except (KeyError, ValueError, binascii.Error):
        raise WebhookVerificationError("The signature is missing, or cannot be read.") from None


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise WebhookVerificationError("The secret cannot be read: it begins with whsec_.") from None
