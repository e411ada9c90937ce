"""Signatures of deliveries, in the `Api-Signature` format and in that of Standard Webhooks."""

import base64
import hmac
import os
from collections.abc import Sequence

PREFIX = "whsec_"
_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(os.urandom(_BYTES)).decode()


def key_of(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(PREFIX))


def headers(delivery: str, second: int, body: bytes, keys: Sequence[bytes]) -> bytes:
    """Return the header lines. They contain a signature for every key, in the given order."""
    signed = b"%b.%d.%b" % (delivery.encode(), second, body)
    digests = [hmac.digest(key, signed, "sha256") for key in keys]
    api = b"".join([b",v1=%b" % digest.hex().encode() for digest in digests])
    standard = b" ".join([b"v1," + base64.b64encode(digest) for digest in digests])
    return (
        b"Api-Delivery-Id: %b\r\nApi-Signature: t=%d%b\r\n"
        b"webhook-id: %b\r\nwebhook-timestamp: %d\r\nwebhook-signature: %b\r\n"
    ) % (delivery.encode(), second, api, delivery.encode(), second, standard)
