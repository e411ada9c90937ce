"""What code that verifies deliveries must accept and refuse, in whatever language it is written."""

import time
from collections.abc import Callable
from typing import Any

from stead.control.webhooks import signing

BODY = '{"id":"evt_01","type":"deploy.completed","data":{"domain":"bücher.example"}}'.encode()
DELIVERY = "whd_01k9zy3v7d00r3m8w5x2t6b4qa"
MALFORMED_SIGNATURES = ["", "t=", "t=1", "v1=", "t=x,v1=y", "t=1,v1=zz,v1", ",,,", "=,=", "t=1;v1=x"]

Verify = Callable[[str, dict[str, str], bytes], bool]
"""Whether a delivery with these headers (names in lower case) and this body was signed with this secret."""


def signed_headers(second: int, *secrets: str) -> dict[str, str]:
    lines = signing.headers(DELIVERY, second, BODY, [signing.key_of(secret) for secret in secrets])
    pairs = [line.split(": ", 1) for line in lines.decode().strip().split("\r\n")]
    return {name.lower(): value for name, value in pairs}


def check_verifier(verify: Verify) -> None:
    """Check that valid deliveries are accepted, and deliveries changed in any way refused."""
    second, secret, other = int(time.time()), signing.new_secret(), signing.new_secret()
    good = signed_headers(second, secret)
    assert verify(secret, good, BODY)
    assert verify(secret, signed_headers(second, other, secret), BODY), (
        "the older of two secrets, after a roll"
    )
    assert verify(other, signed_headers(second, other, secret), BODY), "the newer of two secrets"
    assert not verify(other, good, BODY), "another secret"
    assert not verify(secret, good, BODY + b" "), "another body"
    assert not verify(secret, signed_headers(second - 3600, secret), BODY), "too old"
    assert not verify(secret, signed_headers(second + 3600, secret), BODY), "too new"
    moved: dict[str, Any] = {
        **good,
        "api-delivery-id": DELIVERY[:-1] + "x",
        "webhook-id": DELIVERY[:-1] + "x",
    }
    assert not verify(secret, moved, BODY), "another delivery"


def check_malformed_signature(verify: Verify, signature: str) -> None:
    """Check that it is refused without an error, and so is a delivery without any header."""
    headers = {"api-delivery-id": DELIVERY, "api-signature": signature}
    assert verify(signing.new_secret(), headers, BODY) is False
    assert verify(signing.new_secret(), {}, BODY) is False
