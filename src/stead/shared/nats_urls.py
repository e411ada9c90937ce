"""How a program connects to NATS: in plain text, or with TLS from the first byte, and how it notices that the
server hangs.

With the usual upgrade, a client talks to a server that offers no TLS in plain text, and sends its password.
"""

import ssl
from typing import Any
from urllib.parse import urlsplit

PING_SECONDS = 5
UNANSWERED_PINGS = 2
"""A server that hangs keeps its connections open. After so many unanswered pings a client connects again."""


class InvalidNatsUrl(ValueError):
    """The scheme is neither `nats` nor `tls`."""


def connection_options(url: str) -> dict[str, Any]:
    """The options of the client library. Raises InvalidNatsUrl."""
    options = {"ping_interval": PING_SECONDS, "max_outstanding_pings": UNANSWERED_PINGS}
    match urlsplit(url).scheme:
        case "nats":
            return options
        case "tls":
            return {**options, "tls": ssl.create_default_context(), "tls_handshake_first": True}
    raise InvalidNatsUrl("the URL must begin with nats:// or tls://")
