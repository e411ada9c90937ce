"""Host names that a site may have: ASCII, lower case, public, and not ours. No I/O."""

import re
from collections.abc import Iterable
from functools import cache

import idna
from publicsuffixlist import PublicSuffixList

from stead.shared.errors import FieldInvalid
from stead.shared.wording import quote

WWW = "www."
WILDCARD = "*."
MAX_LENGTH = 253

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NOT_PUBLIC = frozenset(
    {
        *("localhost", "localdomain", "local", "internal", "private", "intranet", "lan", "home", "corp"),
        *("invalid", "onion", "alt", "arpa"),
    }
)
"""Top-level domains that the public DNS does not have, or does not have for sites."""


def normalize_name(text: str, *, own_names: Iterable[str] = ()) -> str:
    """Like `normalize_hostname`, but `*.example.com` is accepted too. No name of the platform may be below a
    wildcard."""
    if not text.strip().startswith(WILDCARD):
        return normalize_hostname(text, own_names=own_names)
    base = normalize_hostname(text.strip().removeprefix(WILDCARD), own_names=own_names)
    if any(own.endswith(f".{base}") for own in own_names):
        raise FieldInvalid(param="hostname", reason=f"The platform has names under {base}.")
    if len(base) > MAX_LENGTH - len(WILDCARD):
        raise FieldInvalid(param="hostname", reason=f"A name can have {MAX_LENGTH} characters.")
    return f"{WILDCARD}{base}"


def spell(text: str) -> str:
    """The form in which a host name is stored. Text that cannot be one is returned in lower case."""
    name = text.strip()
    if name.startswith(WILDCARD):
        return f"{WILDCARD}{spell(name.removeprefix(WILDCARD))}"
    return _encode(name) or name.lower()


def _encode(text: str) -> str | None:
    try:
        encoded = idna.encode(text.strip().removesuffix("."), uts46=True, transitional=False)
    except idna.IDNAError:
        return None
    return encoded.decode("ascii").lower()


def normalize_hostname(text: str, *, own_names: Iterable[str] = (), param: str = "hostname") -> str:
    """Return the form in which a host name is stored and compared. Raises FieldInvalid for anything else.

    A top-level domain begins with a letter. Text whose last label does not is an IP address in some spelling.
    `own_names` are names of the platform: no site may have one of them, or a name below one.
    """
    hostname = _encode(text)
    labels = hostname.split(".") if hostname else []
    is_valid = len(labels) >= 2 and all(_LABEL.fullmatch(label) for label in labels)
    if hostname is None or len(hostname) > MAX_LENGTH or not is_valid:
        raise FieldInvalid(
            param=param, reason=f"{quote(text)} is not a domain name. Use for example: example.com."
        )
    if not labels[-1][0].isalpha() or labels[-1] in _NOT_PUBLIC:
        raise FieldInvalid(param=param, reason=f"{quote(text)} is not a public domain name.")
    for own in own_names:
        if hostname == own or hostname.endswith(f".{own}"):
            raise FieldInvalid(param=param, reason=f"The platform assigns the names under {own}.")
    if get_registrable_domain(hostname) is None:
        reason = f"{hostname} is a public suffix: anyone can register names under it. Use a name of your own."
        raise FieldInvalid(param=param, reason=reason)
    return hostname


def get_registrable_domain(hostname: str) -> str | None:
    """The domain that somebody registered: a public suffix and one label. None for a public suffix."""
    return _public_suffixes().privatesuffix(hostname)


def list_parents(hostname: str) -> list[str]:
    """The names above a host name, down to the one that was registered; without the host name itself."""
    registered = get_registrable_domain(hostname)
    if registered is None or registered == hostname:
        return []
    labels = hostname.removesuffix(f".{registered}").split(".")
    return [*(".".join([*labels[start:], registered]) for start in range(1, len(labels))), registered]


def is_wildcard(hostname: str) -> bool:
    return hostname.startswith(WILDCARD)


def get_base(hostname: str) -> str:
    """The domain that a wildcard is below; other names are their own base."""
    return hostname.removeprefix(WILDCARD)


def list_wildcards_above(hostname: str) -> list[str]:
    """The wildcards that a name is below, at any depth; without the name itself."""
    return [f"{WILDCARD}{parent}" for parent in list_parents(hostname) if hostname != f"{WILDCARD}{parent}"]


def get_www_sibling(hostname: str) -> str:
    """`www.example.com` for `example.com`, and the other way round."""
    return hostname.removeprefix(WWW) if hostname.startswith(WWW) else f"{WWW}{hostname}"


@cache
def _public_suffixes() -> PublicSuffixList:
    """The list of publicsuffix.org, as the package contains it. It includes suffixes of private operators,
    such as hosting platforms: their customers do not trust each other either."""
    return PublicSuffixList()
