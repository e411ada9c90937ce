"""How the URL of an SMTP server is understood. `smtp://` requires STARTTLS, `smtps://` is TLS from the first
byte, and with `smtp+plaintext://` nothing is encrypted."""

from typing import Any
from urllib.parse import SplitResult, unquote

SCHEMES = ("smtp", "smtps", "smtp+plaintext")
CONNECT_SECONDS = 15
SEND_SECONDS = 300
"""A server may check a message for minutes before it accepts it. Whoever gives up earlier sends it twice."""


def client_options(url: SplitResult) -> dict[str, Any]:
    """For `aiosmtplib.SMTP`."""
    return {
        "hostname": url.hostname,
        "port": url.port,
        "username": unquote(url.username) if url.username else None,
        "password": unquote(url.password) if url.password else None,
        "use_tls": url.scheme == "smtps",
        "start_tls": url.scheme == "smtp",
        "timeout": CONNECT_SECONDS,
    }
