"""Removes personal data from lines of a log: addresses of visitors and of mail, and query strings.

Customers write these lines, so every expression takes time in proportion to the length of a line, whatever is
in it.
"""

import re
from ipaddress import AddressValueError, IPv6Address

MAX_BODY = 8_000
_MAX_ADDRESS = 64
_GROUPS_KEPT_BITS = 80
"""Behind the first three groups."""
_IPV4 = re.compile(r"\b(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}\b")
_MAYBE_IPV6 = re.compile(r"[0-9A-Fa-f:.]{3,}")
_MANY_GROUPS = re.compile(r"((?:[0-9a-f]{1,4}:){2}[0-9a-f]{1,4}):[0-9a-f:]{2,}", re.IGNORECASE)
_MAIL = re.compile(
    r"(?:(?<![A-Za-z0-9._%+-])|(?<=%40))(?:[A-Za-z0-9._+-]|%(?!40))++(?:@|%40)"
    r"[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)+"
)
_WITH_QUERY = re.compile(r"(?<![^\s\"'])([^\s\"'?]*+)\?([^\s\"']++)")


def mask(body: str) -> str:
    """Without addresses of visitors and of mail, and without query strings; bounded."""
    cut = len(body) - MAX_BODY
    body = body[:MAX_BODY]
    if "?" in body:
        body = _WITH_QUERY.sub(_cut_query, body)
    if ":" in body:
        body = _MAYBE_IPV6.sub(_mask_ipv6, body)
    body = _IPV4.sub(r"\1.0", body)
    if "@" in body or "%40" in body:
        body = _MAIL.sub("[mail]", body)
    return f"{body} … {cut} more characters were cut" if cut > 0 else body


def _cut_query(word: re.Match[str]) -> str:
    path, query = word.groups()
    return path if "/" in path or "=" in query else word[0]


def _mask_ipv6(found: re.Match[str]) -> str:
    run = found[0]
    if run.count(":") < 2 or not any(character.isdigit() for character in run):
        return run
    is_after_name = found.start() > 0 and found.string[found.start() - 1].isalnum()
    if is_after_name and run.startswith("::"):
        return run  # a method of a class
    before = ":" if run.startswith(":") and not run.startswith("::") else ""
    rest = run.removeprefix(before)
    for address in (rest.rstrip("."), rest.rstrip(":."), rest.partition(".")[0]):
        if (network := _network_of(address)) is not None:
            return before + network + rest.removeprefix(address)
    return _MANY_GROUPS.sub(r"\1::", run)


def _network_of(text: str) -> str | None:
    """None if it is no address."""
    if len(text) > _MAX_ADDRESS:
        return None
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return None
    if address.ipv4_mapped is not None:
        return text  # what follows masks the rest of it
    return str(IPv6Address(int(address) >> _GROUPS_KEPT_BITS << _GROUPS_KEPT_BITS))
