"""Slugs of sites: the first label of their preview hosts."""

import secrets

_CHARACTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def new_slug(domain: str) -> str:
    """The domain, with four random characters that make the slug unique and hard to guess."""
    readable = domain.replace(".", "-").replace("--", "-")[:40].strip("-")
    return f"{readable}-{''.join(secrets.choice(_CHARACTERS) for _ in range(4))}"
