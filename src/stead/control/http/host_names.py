"""Strict parsing of host names and addresses in URLs: an ambiguous host is refused."""

import re
from ipaddress import IPv4Address, IPv6Address

import idna

from stead.control.http.principal import Address

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class InvalidUrl(ValueError):
    """The message tells the author of the URL what is wrong with it."""


def parse_host(text: str) -> tuple[str, Address | None]:
    """Return the host in normal form, and its address if the host is an IP address."""
    if text.startswith("["):
        try:
            address: Address = IPv6Address(text[1:-1])
        except ValueError:
            raise InvalidUrl("its IPv6 address is malformed.") from None
        return str(address), address
    try:
        address = IPv4Address(text)
    except ValueError:
        return _normalize_name(text), None
    return str(address), address


def _normalize_name(text: str) -> str:
    """A full host name in ASCII. One whose last label begins with a digit would be read as an IP address."""
    try:
        name = idna.encode(text.removesuffix("."), uts46=True, transitional=False).decode("ascii").lower()
    except idna.IDNAError:
        raise InvalidUrl("its host name is malformed.") from None
    labels = name.split(".")
    if len(labels) < 2 or len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise InvalidUrl("its host is not a full host name.")
    if not labels[-1][0].isalpha():
        raise InvalidUrl("its host is an IP address in an unusual spelling.")
    return name
