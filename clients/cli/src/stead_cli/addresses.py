"""Which addresses a key may be sent to, and which the program opens."""

import os

from stead_cli.failures import CliError
from stead_sdk._urls import split_url

_LOOPBACK = ("localhost", "::1")


def with_scheme(address: str) -> str:
    """People leave it out."""
    return (address if "://" in address else f"https://{address}").rstrip("/")


def require_private_address(base_url: str) -> None:
    """Raise for an address over which everybody on the way could read the key."""
    scheme, _, host, _, _ = split_url(base_url)
    is_here = host in _LOOPBACK or host.endswith(".localhost") or host.startswith("127.")
    if scheme == "http" and not is_here and os.environ.get("STEAD_ALLOW_HTTP") != "1":
        raise CliError(
            f"{base_url} is not encrypted: others could read the key.",
            code="address.insecure",
            fix="Use the https address. In a network that you trust, set STEAD_ALLOW_HTTP=1.",
            exit_code=2,
        )


def has_same_origin(url: str, other: str) -> bool:
    first, second = split_url(url), split_url(other)
    return (first[0], *first[2:4]) == (second[0], *second[2:4])
