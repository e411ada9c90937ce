"""Which addresses a key may be sent to, and which the program opens."""

import os

from stead_cli.failures import CliError
from stead_sdk._urls import split_url

_LOOPBACK = ("localhost", "::1")


def with_scheme(address: str) -> str:
    """People leave it out."""
    return (address if "://" in address else f"https://{address}").rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether it is this machine. A name such as 127.example.com may be any other."""
    parts = host.split(".")
    is_number = len(parts) == 4 and all(part.isdecimal() and part.isascii() for part in parts)
    return host in _LOOPBACK or host.endswith(".localhost") or (is_number and parts[0] == "127")


def require_private_address(base_url: str) -> None:
    """Raise for an address over which everybody on the way could read the key."""
    scheme, _, host, _, _ = split_url(base_url)
    if scheme == "http" and not is_loopback(host) and os.environ.get("STEAD_ALLOW_HTTP") != "1":
        raise CliError(
            f"{base_url} is not encrypted: others could read the key.",
            code="address.insecure",
            fix="Use the https address. In a network that you trust, set STEAD_ALLOW_HTTP=1.",
            exit_code=2,
        )


def has_same_origin(url: str, other: str) -> bool:
    first, second = split_url(url), split_url(other)
    return (first[0], *first[2:4]) == (second[0], *second[2:4])
