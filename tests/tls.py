"""TLS settings for clients in tests."""

import ssl
from functools import cache

import httpx


@cache
def usual_context() -> ssl.SSLContext:
    """What httpx uses by default. Reading all root certificates is slow, so clients share it."""
    return httpx.create_ssl_context()
