"""What a rule is, and its limits. Anyone with an account can write these files, so everything is bounded.

Every edge that serves the site keeps the compiled rules in memory and evaluates them for each request. The
cost of a request depends on the length of its path and on the number of rules with placeholders, not on the
number of all rules.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

FILES = ("_redirects", "_headers", "stead.json")
"""The names of the files. They are never served."""
MAX_FILE_BYTES = 512 * 1024
MAX_LINE = 4000
MAX_REDIRECTS = 5000
MAX_HEADER_RULES = 1000
MAX_WITH_PLACEHOLDERS = 100
"""Of redirects, and of header rules: an edge may have to try all of them."""
MAX_PER_PATH = 10
"""Redirects for the same path that differ in their query."""
MAX_SEGMENTS = 32
MAX_HEADERS_PER_RULE = 30
MAX_HEADERS_PER_PATH = 60
"""Of all rules for the same path."""
MAX_QUERY = 5
MAX_WARNINGS = 50

STATUSES = (200, 301, 302, 303, 307, 308, 404, 410)
NAME = re.compile(r":([A-Za-z][A-Za-z0-9_]{0,31})", re.ASCII)
SPLAT = "splat"
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_AUTHORITY = re.compile(r"https?://[^/?#:@\\]+(?::\d{1,5})?(?=[/?#]|$)", re.IGNORECASE | re.ASCII)


class RuleRefused(ValueError):
    """A rule cannot be used. The message says why, for the author of the file."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The path that a rule is for. A segment is a text or, for a placeholder, None."""

    segments: tuple[str | None, ...]
    names: tuple[str, ...]
    has_splat: bool

    @property
    def is_exact(self) -> bool:
        return not self.names and not self.has_splat

    @property
    def place(self) -> tuple[object, ...]:
        """The same for all patterns that match the same paths: names of placeholders do not matter."""
        return self.segments, self.has_splat

    @property
    def exact(self) -> str:
        return "/" + "/".join(segment or "" for segment in self.segments)


@dataclass(frozen=True, slots=True)
class QueryCondition:
    name: str
    value: str | None
    """None for a placeholder, which takes any value."""
    capture: str | None = None


@dataclass(frozen=True, slots=True)
class Redirect:
    pattern: Pattern
    to: str
    status: int = 301
    force: bool = False
    """Whether it comes before a file at its path."""
    query: tuple[QueryCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class HeaderRule:
    pattern: Pattern
    headers: tuple[tuple[str, str | None], ...]
    """Names with values; None removes what an earlier rule has set."""


@dataclass(slots=True)
class SiteRules:
    redirects: list[Redirect] = field(default_factory=list)
    headers: list[HeaderRule] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    suppressed: int = 0

    def warn(self, place: str, reason: str) -> None:
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(f"{place}: {reason}")
        else:
            self.suppressed += 1

    @property
    def is_empty(self) -> bool:
        return not self.redirects and not self.headers


def parse_pattern(text: str) -> Pattern:
    """`/blog/:year/*`. A trailing slash has no meaning; percent-encoding is decoded."""
    if re.match(r"https?://", text, re.IGNORECASE):
        raise RuleRefused("rules for a host are not supported; write only the path")
    if not text.startswith("/") or _CONTROL.search(text) or "?" in text or "#" in text:
        raise RuleRefused("a path begins with a slash and has no spaces, no ? and no #")
    parts = [part for part in text.split("/") if part]
    has_splat = bool(parts) and parts[-1] == "*"
    if has_splat:
        parts.pop()
    if len(parts) > MAX_SEGMENTS:
        raise RuleRefused(f"a path has at most {MAX_SEGMENTS} segments")
    segments: list[str | None] = []
    names: list[str] = []
    for part in parts:
        if "*" in part:
            raise RuleRefused("a * can only be the last segment")
        name = NAME.fullmatch(part)
        if name is None and part.startswith(":"):
            raise RuleRefused(f"{part[:40]} is not a placeholder: a letter, then letters, digits or _")
        if name is not None:
            names.append(name[1])
            segments.append(None)
        else:
            segments.append(_decode(part))
    if len(set(names)) != len(names) or SPLAT in names:
        raise RuleRefused("every placeholder needs a name of its own, other than splat")
    return Pattern(tuple(segments), tuple(names), has_splat)


def _decode(part: str) -> str:
    try:
        text = unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise RuleRefused("the path is not UTF-8") from None
    if text in (".", "..") or "/" in text or "\0" in text:
        raise RuleRefused("a segment cannot be a dot, two dots, or contain an encoded slash")
    return text


def check_redirect(rule: Redirect) -> Redirect:
    """The rule, or the reason why it cannot be used."""
    if rule.status not in STATUSES:
        raise RuleRefused(f"the status {rule.status} is not supported; use {', '.join(map(str, STATUSES))}")
    if len(rule.query) > MAX_QUERY:
        raise RuleRefused(f"a rule has at most {MAX_QUERY} query parameters")
    _check_destination(rule)
    known = {*rule.pattern.names, *(each.capture for each in rule.query if each.capture)}
    if rule.pattern.has_splat:
        known.add(SPLAT)
    unknown = [name for name in captures_in(rule.to) if name not in known]
    if unknown:
        raise RuleRefused(f"the destination uses :{unknown[0]}, which the path does not have")
    is_same = rule.pattern.is_exact and rule.to.partition("?")[0].rstrip("/") == rule.pattern.exact.rstrip(
        "/"
    )
    if is_same and 300 <= rule.status < 400 and not rule.query:
        raise RuleRefused("it would redirect to itself")
    return rule


def _check_destination(rule: Redirect) -> None:
    to = rule.to
    if len(to) > 2000 or _CONTROL.search(to) or not to.isprintable() or "\\" in to:
        raise RuleRefused("the destination has at most 2000 characters, without spaces and backslashes")
    if to.startswith("/"):
        if to.startswith("//"):
            raise RuleRefused("a destination on another host begins with https://")
    elif not _AUTHORITY.match(to):
        raise RuleRefused("the destination is neither a path nor a complete URL with a fixed host")
    elif not 300 <= rule.status < 400:
        raise RuleRefused("requests cannot be passed on to another host: use a status from 301 to 308")


def captures_in(to: str) -> list[str]:
    """The names of the placeholders in the path and query of a destination."""
    authority = _AUTHORITY.match(to)
    return NAME.findall(to[authority.end() :] if authority else to)


def split_destination(to: str) -> list[str]:
    """Literal text and names of placeholders, in turn, beginning and ending with literal text."""
    authority = _AUTHORITY.match(to)
    start = authority.end() if authority else 0
    parts = NAME.split(to[start:])
    return [to[:start] + parts[0], *parts[1:]]
