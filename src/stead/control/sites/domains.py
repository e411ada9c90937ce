"""Domain names as sites have them: in ASCII, lower case, public."""

import re
import secrets

import idna

from stead.shared.errors import FieldInvalid

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_RESERVED = frozenset({"localhost", "local", "internal", "invalid", "onion", "arpa"})
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def normal_domain(text: str, *, preview_domain: str) -> str:
    """A domain in the form it is stored and compared in; FieldInvalid for what cannot be one.

    A top level domain begins with a letter: what does not is an IP address in one of its spellings.
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
        raise _invalid(f"Names under {preview_domain} are given by the platform.")
    return domain


def new_slug(domain: str) -> str:
    """From the domain, and four characters of chance so that it is unique and cannot be guessed."""
    readable = domain.replace(".", "-").replace("--", "-")[:40].strip("-")
    return f"{readable}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"


def _invalid(reason: str) -> FieldInvalid:
    return FieldInvalid(param="domain", reason=reason)
