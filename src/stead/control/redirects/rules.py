"""What a set of redirects must be like, and how it is put into words for the edge. No I/O."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from stead.protocol.edge_records import EdgeRedirect, RedirectSet, RedirectsRecord
from stead.shared.errors import FieldInvalid

MOST_HOPS = 10
PART_RULES = 500
PART_BYTES = 256 * 1024

Path = Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"^/[^\x00-\x20\x7f?#]*$(?!\n)")]
Destination = Annotated[
    str, Meta(min_length=1, max_length=2000, pattern=r"^(/|https?://)[^\x00-\x20\x7f]*$(?!\n)")
]


class RedirectRule(Struct, forbid_unknown_fields=True, rename={"from_": "from"}):
    from_: Annotated[
        Path,
        Meta(description="A path of the site; a last `*` stands for any rest.", examples=["/old/*"]),
    ]
    to: Annotated[
        Destination,
        Meta(
            description="A path or an absolute URL; a last `*` is replaced by that rest.",
            examples=["/new/*"],
        ),
    ]
    code: Annotated[Literal[301, 302, 307, 308], Meta(examples=[301])]


Found = tuple[RedirectRule, str]
"""A rule that matches a path, and what its `*` stands for."""


class Matching:
    """Which rule matches a path: one that names it, else the longest that ends in `*`."""

    def __init__(self, rules: Sequence[RedirectRule]) -> None:
        self._exact = {rule.from_: rule for rule in rules if not rule.from_.endswith("*")}
        self._open = {rule.from_[:-1]: rule for rule in rules if rule.from_.endswith("*")}
        self.lengths = tuple(sorted({len(prefix.encode()) for prefix in self._open}, reverse=True))
        self._shapes = sorted({len(prefix) for prefix in self._open}, reverse=True)

    def find(self, path: str) -> Found | None:
        if path in self._exact:
            return self._exact[path], ""
        for length in self._shapes:
            if length <= len(path) and path[:length] in self._open:
                return self._open[path[:length]], path[length:]
        return None


def check(rules: Sequence[RedirectRule], hosts: frozenset[str]) -> None:
    """`hosts` are the site's own: who is sent there is still on the site."""
    seen: set[str] = set()
    for place, rule in enumerate(rules):
        if "*" in rule.from_[:-1]:
            raise FieldInvalid(param=f"redirects.{place}.from", reason="Only the last character can be `*`.")
        if rule.to.startswith("//") or (not rule.to.startswith("/") and not _host(rule.to)):
            raise FieldInvalid(param=f"redirects.{place}.to", reason="It is neither a path nor a whole URL.")
        if rule.from_ in seen:
            raise FieldInvalid(param=f"redirects.{place}.from", reason=f"`{rule.from_}` has two rules.")
        seen.add(rule.from_)
    matching = Matching(rules)
    for place, rule in enumerate(rules):
        if _goes_round(matching, rule, hosts):
            raise FieldInvalid(
                param=f"redirects.{place}.to",
                reason=f"Whoever asks for `{rule.from_}` would be sent around in a circle, "
                f"or more than {MOST_HOPS} times.",
            )


def redirect_set(rules: Sequence[RedirectRule]) -> RedirectSet:
    version = hashlib.sha256(msgspec.json.encode(rules)).hexdigest()[:16]
    return RedirectSet(version, Matching(rules).lengths)


def parts(rules: Sequence[RedirectRule], version: str) -> Iterator[RedirectsRecord]:
    """In pieces that a message holds."""
    part: list[EdgeRedirect] = []
    size = 0
    for rule in rules:
        weight = len(rule.from_.encode()) + len(rule.to.encode()) + 16
        if part and (len(part) == PART_RULES or size + weight > PART_BYTES):
            yield RedirectsRecord(version, tuple(part))
            part, size = [], 0
        part.append(EdgeRedirect(rule.from_, rule.to, rule.code))
        size += weight
    if part:
        yield RedirectsRecord(version, tuple(part))


def _goes_round(matching: Matching, rule: RedirectRule, hosts: frozenset[str]) -> bool:
    found: Found | None = (rule, "~" if rule.from_.endswith("*") else "")
    for _ in range(MOST_HOPS):
        if found is None:
            return False
        path = _path_on_site(_destination(*found), hosts)
        found = matching.find(path) if path is not None else None
    return found is not None


def _destination(rule: RedirectRule, rest: str) -> str:
    return rule.to[:-1] + rest if rule.to.endswith("*") else rule.to


def _path_on_site(destination: str, hosts: frozenset[str]) -> str | None:
    if not destination.startswith("/") and _host(destination) not in hosts:
        return None
    return urlsplit(destination).path or "/"


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
