"""Domain names of sites: ASCII, lower case, public."""

import re
import secrets

import idna

from stead.shared.errors import FieldInvalid

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_RESERVED = frozenset({"localhost", "local", "internal", "invalid", "onion", "arpa"})
_SLUG_CHARACTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def normalize_domain(text: str, *, preview_domain: str) -> str:
    """Return the form in which a domain is stored and compared. Raises FieldInvalid for anything else.

    A top-level domain begins with a letter. Text whose last label does not is an IP address in some spelling.
    """
    try:
        domain = (
            idna.encode(text.strip().removesuffix("."), uts46=True, transitional=False)
            .decode("ascii")
            .lower()
        )
    except idna.IDNAError:
        raise _invalid(f"{text!r} is not a domain name.") from None
    labels = domain.split(".")
    if len(labels) < 2 or len(domain) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _invalid(f"{text!r} is not a domain name.")
    if not labels[-1][0].isalpha() or labels[-1] in _RESERVED:
        raise _invalid(f"{text!r} is not a public domain name.")
    if domain == preview_domain or domain.endswith(f".{preview_domain}"):
        raise _invalid(f"The platform assigns the names under {preview_domain}.")
    return domain


def new_slug(domain: str) -> str:
    """The domain, with four random characters that make the slug unique and hard to guess."""
    readable = domain.replace(".", "-").replace("--", "-")[:40].strip("-")
    return f"{readable}-{''.join(secrets.choice(_SLUG_CHARACTERS) for _ in range(4))}"


def _invalid(reason: str) -> FieldInvalid:
    return FieldInvalid(param="domain", reason=reason)
