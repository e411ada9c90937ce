"""TLS settings for clients in tests."""

from functools import cache

import httpx
import httpx._transports.default as transports


def share_trust() -> None:
    """Read the certificates of known authorities once. Otherwise httpx reads them for every client, which
    takes longer than most requests."""
    transports.create_ssl_context = cache(httpx.create_ssl_context)  # type: ignore[attr-defined]
