"""Validating a set of redirects, and converting it to edge records. No I/O."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from stead.protocol.edge_records import EdgeRedirect, RedirectSet, RedirectsRecord
from stead.shared.errors import FieldInvalid

MAX_HOPS = 10
MAX_BYTES = 512 * 1024
"""The paths and destinations of a site, together: every edge of the region keeps them in memory."""
MAX_PREFIX_LENGTHS = 256
"""The edge makes one look-up for each length of a prefix."""
MAX_PART_RULES = 500
MAX_PART_BYTES = 256 * 1024

Path = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        pattern=r"^/[^\x00-\x20\x7f?#]*$(?!\n)",
        extra={"noun": "path", "expected": "It begins with a slash and has no spaces, no ? and no #."},
    ),
]
Destination = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        pattern=r"^(/|https?://)[^\x00-\x20\x7f]*$(?!\n)",
        extra={
            "noun": "destination",
            "expected": "It is a path that begins with a slash or a complete URL, without spaces.",
        },
    ),
]


class RedirectRule(Struct, forbid_unknown_fields=True, rename={"from_": "from"}):
    from_: Annotated[
        Path,
        Meta(
            description="A path of the site. A trailing `*` matches any rest of the path.",
            examples=["/old/*"],
        ),
    ]
    to: Annotated[
        Destination,
        Meta(
            description="A path or an absolute URL. A trailing `*` is replaced by the matched rest.",
            examples=["/new/*"],
        ),
    ]
    code: Annotated[Literal[301, 302, 307, 308], Meta(examples=[301])]


Match = tuple[RedirectRule, str]
"""A rule that matches a path, and the rest of the path that its `*` matches."""


class RuleMatcher:
    """Finds the rule for a path: the exact one, or else the longest one that ends in `*`."""

    def __init__(self, rules: Sequence[RedirectRule]) -> None:
        self._exact = {rule.from_: rule for rule in rules if not rule.from_.endswith("*")}
        self._prefixes = {rule.from_[:-1]: rule for rule in rules if rule.from_.endswith("*")}
        self.lengths = tuple(sorted({len(prefix.encode()) for prefix in self._prefixes}, reverse=True))
        self._prefix_lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)

    def find(self, path: str) -> Match | None:
        if path in self._exact:
            return self._exact[path], ""
        for length in self._prefix_lengths:
            if length <= len(path) and path[:length] in self._prefixes:
                return self._prefixes[path[:length]], path[length:]
        return None


def validate(rules: Sequence[RedirectRule], hosts: frozenset[str]) -> None:
    """`hosts` are the hosts of the site: a redirect to one of them can be part of a loop."""
    size = sum(len(rule.from_.encode()) + len(rule.to.encode()) for rule in rules)
    if size > MAX_BYTES:
        raise FieldInvalid(
            param="redirects",
            reason=f"The paths and destinations have {size} bytes together. At most {MAX_BYTES} are allowed.",
        )
    seen: set[str] = set()
    for index, rule in enumerate(rules):
        if "*" in rule.from_[:-1]:
            raise FieldInvalid(param=f"redirects.{index}.from", reason="Only the last character can be `*`.")
        if rule.to.startswith("//") or (not rule.to.startswith("/") and not _host(rule.to)):
            raise FieldInvalid(
                param=f"redirects.{index}.to", reason="It is neither a path nor an absolute URL."
            )
        if rule.from_ in seen:
            raise FieldInvalid(param=f"redirects.{index}.from", reason=f"`{rule.from_}` has two rules.")
        seen.add(rule.from_)
    matcher = RuleMatcher(rules)
    if len(matcher.lengths) > MAX_PREFIX_LENGTHS:
        raise FieldInvalid(
            param="redirects",
            reason=f"The paths that end in `*` have {len(matcher.lengths)} different lengths."
            f" At most {MAX_PREFIX_LENGTHS} are allowed.",
        )
    for index, rule in enumerate(rules):
        if _is_loop(matcher, rule, hosts):
            raise FieldInvalid(
                param=f"redirects.{index}.to",
                reason=f"Requests for `{rule.from_}` would be redirected in a loop, "
                f"or more than {MAX_HOPS} times.",
            )


def build_redirect_set(rules: Sequence[RedirectRule]) -> RedirectSet:
    version = hashlib.sha256(msgspec.json.encode(rules)).hexdigest()[:16]
    return RedirectSet(version, RuleMatcher(rules).lengths)


def split_into_parts(rules: Sequence[RedirectRule], version: str) -> Iterator[RedirectsRecord]:
    """Edge records that are small enough for a message."""
    part: list[EdgeRedirect] = []
    size = 0
    for rule in rules:
        weight = len(rule.from_.encode()) + len(rule.to.encode()) + 16
        if part and (len(part) == MAX_PART_RULES or size + weight > MAX_PART_BYTES):
            yield RedirectsRecord(version, tuple(part))
            part, size = [], 0
        part.append(EdgeRedirect(rule.from_, rule.to, rule.code))
        size += weight
    if part:
        yield RedirectsRecord(version, tuple(part))


def _is_loop(matcher: RuleMatcher, rule: RedirectRule, hosts: frozenset[str]) -> bool:
    found: Match | None = (rule, "~" if rule.from_.endswith("*") else "")
    for _ in range(MAX_HOPS):
        if found is None:
            return False
        path = _path_on_site(_destination(*found), hosts)
        found = matcher.find(path) if path is not None else None
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
