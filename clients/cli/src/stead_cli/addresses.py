"""Which addresses a key may be sent to, and which the program opens."""

import os

from stead_cli.failures import CliError
from stead_sdk._urls import split_url
from stead_sdk.errors import ConfigurationError

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
    origin = _origin(base_url)
    if origin is None:
        raise CliError(
            f"{base_url} is not the address of an installation.",
            code="address.invalid",
            fix="Give the scheme and the host only: https://api.example.com",
            exit_code=2,
        )
    scheme, host, _ = origin
    if scheme == "http" and not is_loopback(host) and os.environ.get("STEAD_ALLOW_HTTP") != "1":
        raise CliError(
            f"{base_url} is not encrypted: others could read the key.",
            code="address.insecure",
            fix="Use the https address. In a network that you trust, set STEAD_ALLOW_HTTP=1.",
            exit_code=2,
        )


def has_same_origin(url: str, other: str) -> bool:
    first = _origin(url)
    return first is not None and first == _origin(other)


def _origin(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None for a URL that others read differently: to a browser, a backslash is a
    slash."""
    try:
        scheme, user, host, port, _ = split_url(url)
    except ConfigurationError:
        return None
    return None if user or "\\" in url else (scheme, host, port)
