"""Host names and addresses in URLs, read strictly: what can be read in two ways is refused."""

import re
from ipaddress import IPv4Address, IPv6Address

import idna

from stead.control.http.principal import Address

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class NotAnAddress(ValueError):
    """The message says why, in the words of whoever wrote the URL."""


def read_host(text: str) -> tuple[str, Address | None]:
    """A host in its normal form, and its address where that is what it names."""
    if text.startswith("["):
        try:
            address: Address = IPv6Address(text[1:-1])
        except ValueError:
            raise NotAnAddress("its IPv6 address is malformed.") from None
        return str(address), address
    try:
        address = IPv4Address(text)
    except ValueError:
        return _name(text), None
    return str(address), address


def _name(text: str) -> str:
    """A host name with a dot in it. A last label that begins with a digit spells an IP address."""
    try:
        name = idna.encode(text.removesuffix("."), uts46=True, transitional=False).decode("ascii").lower()
    except idna.IDNAError:
        raise NotAnAddress("its host name is malformed.") from None
    labels = name.split(".")
    if len(labels) < 2 or len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise NotAnAddress("its host is not a full host name.")
    if not labels[-1][0].isalpha():
        raise NotAnAddress("its host is an IP address in an unusual spelling.")
    return name
