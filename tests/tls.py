"""TLS settings for clients in tests."""

import os
import ssl
from functools import cache
from typing import Any

import httpx
import httpx._transports.default as transports

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def share_trust() -> None:
    """Read the certificates of known authorities once. Otherwise httpx reads them for every client, which
    takes longer than most requests."""
    transports.create_ssl_context = _create_context  # type: ignore[attr-defined]


def _create_context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    """Like the function of httpx that this one replaces."""
    if verify is True and cert is None and not any(os.environ.get(name) for name in VARIABLES):
        return _known_authorities()
    return httpx.create_ssl_context(verify, cert, trust_env)


@cache
def _known_authorities() -> ssl.SSLContext:
    return httpx.create_ssl_context()
