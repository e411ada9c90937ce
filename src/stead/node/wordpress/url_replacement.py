"""Replaces the host of URLs in values of a WordPress database: text, JSON, and what PHP has serialized.

A host is replaced only where a URL names it: after `//`, also if the slashes are escaped for JSON or encoded
for a URL or for HTML. Text that only mentions the host, such as an e-mail address, stays. One pass replaces
everything, so a new host that contains the old one is safe, and so is a second pass.

A value whose lengths cannot be kept right stays as it is and is counted.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field

from stead.node.wordpress.php_serialized import Malformed, change_strings, looks_serialized

MAX_NESTING = 32
"""How many times a serialized value may be inside a string of another one."""
EFFORT = 16
"""How many times the length of a value may be read. A value can be made so that it looks serialized at every
level and is not, and would be read again and again."""

_COLON = rb"(?::|%(?:25)*3[aA]|\\+u003[aA]|&#0*58;|&#[xX]0*3[aA];)"
_SLASHES = (
    rb"//|(?P<escape>\\{1,32})/(?P=escape)/|(?:\\{1,32}u002[fF]){2}|(?:%(?:25){0,8}2[fF]){2}"
    rb"|(?:&#0{0,4}47;|&#[xX]0{0,4}2[fF];){2}"
)
_BEFORE = re.compile(
    rb"(?:(?P<scheme>[hH][tT][tT][pP][sS]?)(?P<colon>" + _COLON + rb"))?(?P<slashes>" + _SLASHES + rb")\Z"
)
_USUAL = b"https://"
"""Before most hosts, and much faster to find than everything that `_BEFORE` accepts."""
_BEFORE_BYTES = 160
"""Longer than everything that `_BEFORE` accepts."""
_AFTER = re.compile(
    # The end of the host: not `site.testing`, `site.test.example`, another port, or a user name.
    rb"(?![0-9A-Za-z_@-])(?!\.[0-9A-Za-z_-])(?!(?::|%(?:25)*3[aA])[0-9])(?!:[^/\s\"'<>\\]{0,200}@)"
)
_MAY_HAVE_LENGTHS = re.compile(rb":(?<=\d:)[{\"\\&]")
_MAY_HAVE_ENCODED_LENGTHS = re.compile(rb"%(?:25)*3[aA][%&]")
"""One of these is found in everything below. Most texts contain neither, and both are fast."""
_JSON_LITERAL = re.compile(rb'(?<!\\)"(?=[aOCsS]:\d+:)[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
"""A string in JSON with a serialized value."""
_DEEPER_LITERAL = re.compile(rb'\\"[aOC]:\d+:')
"""A serialized value in a string in JSON, which is itself in a string in JSON."""
_EMBEDDED = re.compile(rb'(?<![0-9A-Za-z_"])(?:a:\d+:\{|O:\d+:"|s:\d+:")')
"""A serialized value after other text, as in sessions of PHP."""
_ENCODED_LENGTH = re.compile(
    rb"[sS](?::|%(?:25)*3[aA])\d+(?::|%(?:25)*3[aA])(?:&quot;|&#0*34;|&#x0*22;|%(?:25)*22|\\+\"|\\+u0022)",
    re.IGNORECASE,
)
"""A serialized string that was escaped for JSON, or encoded for a URL or for HTML: its length is of the text
before that. What can be changed nevertheless was changed before this is searched for."""


@dataclass
class ReplacementCounts:
    urls: int = 0
    broken: int = 0
    """Serialized values that PHP cannot read either. They stay as they are."""
    unsupported: int = 0
    """Values with a URL inside a format whose lengths would become wrong. They stay as they are."""
    base64: int = 0
    """Values that contain the host in Base64. They stay as they are."""

    def add(self, other: "ReplacementCounts") -> None:
        self.urls += other.urls
        self.broken += other.broken
        self.unsupported += other.unsupported
        self.base64 += other.base64


@dataclass(frozen=True)
class UrlReplacement:
    """From each of the old hosts to the new one, which is reached with HTTPS."""

    old: tuple[bytes, ...]
    new: bytes
    _base64: tuple[bytes, ...] = field(default=(), repr=False)

    @classmethod
    def between(cls, old: Iterable[str], new: str) -> "UrlReplacement":
        """Hosts in lower case. International ones are replaced in both of their forms."""
        names = sorted({form for host in old if host != new for form in _forms(host)}, key=len, reverse=True)
        hosts = tuple(name.encode() for name in names)
        return cls(hosts, new.encode(), tuple(part for host in hosts for part in _base64_parts(host)))

    @property
    def search_terms(self) -> tuple[bytes, ...]:
        """A value that needs attention contains one of these, in any case."""
        return (*self.old, *self._base64)

    def concerns(self, value: bytes) -> bool:
        """Whether the value contains one of the search terms."""
        return self._mentions(value) or self._has_base64(value)

    def find_terms(self, text: bytes) -> list[int]:
        """Where search terms begin, in ascending order."""
        lower, found = text.lower(), list[int]()
        for host in self.old:
            if host in lower:
                found += _find_all(lower, host)
        for part in self._base64:
            if part in text:
                found += _find_all(text, part)
        found.sort()
        return found

    def replace(self, value: bytes, counts: ReplacementCounts) -> bytes:
        """Return the value with the new host. Adds to `counts`."""
        if self._has_base64(value):
            counts.base64 += 1
        found = _Findings(EFFORT * len(value) + 4096)
        try:
            changed = self._replace(value, found, MAX_NESTING)
        except (_Unsupported, _TooMuchEffort):
            counts.unsupported += 1
            return value
        except Malformed:
            counts.broken += 1
            return value
        counts.add(found)
        return changed

    # Both are called for every string of every value. A loop is twice as fast as `any`.

    def _mentions(self, value: bytes) -> bool:
        lower = value.lower()
        for host in self.old:  # noqa: SIM110
            if host in lower:
                return True
        return False

    def _has_base64(self, value: bytes) -> bool:
        for part in self._base64:  # noqa: SIM110
            if part in value:
                return True
        return False

    def _replace(self, value: bytes, counts: "_Findings", nesting: int) -> bytes:
        counts.spend(len(value))
        if not self._mentions(value):
            return value
        if nesting == 0:
            raise _Unsupported
        if looks_serialized(value):
            return self._replace_serialized(value, counts, nesting)
        return self._replace_mixed(value, counts, nesting)

    def _replace_serialized(self, value: bytes, counts: "_Findings", nesting: int) -> bytes:
        start = len(value) - len(value.lstrip())
        changed, end = self._change(value, _HostFinder(self.old, value), start, counts, nesting)
        if value[end:].strip():
            raise Malformed
        return value[:start] + changed + value[end:]

    def _change(
        self, value: bytes, hosts: "_HostFinder", start: int, counts: "_Findings", nesting: int
    ) -> tuple[bytes, int]:
        def change(text: bytes) -> bytes:
            return self._replace_inner(text, counts, nesting - 1)

        return change_strings(value, change, self._check_opaque, start, hosts.find_next)

    def _replace_inner(self, text: bytes, counts: "_Findings", nesting: int) -> bytes:
        """A broken value inside a good one stays as it is; the good one is changed."""
        before = counts.save()
        try:
            return self._replace(text, counts, nesting)
        except Malformed:
            counts.restore(before)
            counts.broken += 1
        except _Unsupported:
            counts.restore(before)
            counts.unsupported += 1
        return text

    def _check_opaque(self, data: bytes) -> None:
        if self._mentions(data):
            raise _Unsupported

    def _replace_mixed(self, value: bytes, counts: "_Findings", nesting: int) -> bytes:
        """Text that may contain serialized values, alone or as strings in JSON."""
        if not (_MAY_HAVE_LENGTHS.search(value) or _MAY_HAVE_ENCODED_LENGTHS.search(value)):
            return self._replace_text(value, counts)
        pieces, position = [], 0
        for start, end, text in self._find_serialized(value, counts, nesting):
            pieces += [self._replace_rest(value[position:start], counts), text]
            position = end
        return b"".join([*pieces, self._replace_rest(value[position:], counts)])

    def _replace_rest(self, text: bytes, counts: "_Findings") -> bytes:
        if self._mentions(text) and (_ENCODED_LENGTH.search(text) or _DEEPER_LITERAL.search(text)):
            raise _Unsupported
        return self._replace_text(text, counts)

    def _find_serialized(
        self, value: bytes, counts: "_Findings", nesting: int
    ) -> Iterable[tuple[int, int, bytes]]:
        """Serialized values inside other text, already with the new host, from left to right."""
        found = [
            *((match.start(), match.end(), True) for match in _JSON_LITERAL.finditer(value)),
            *((match.start(), 0, False) for match in _EMBEDDED.finditer(value)),
        ]
        position, first = 0, len(value) - len(value.lstrip())
        hosts = _HostFinder(self.old, value)
        for start, end, is_literal in sorted(found):
            if start < position:
                continue
            before = counts.save()
            try:
                if is_literal:
                    text = self._replace_literal(value[start:end], counts, nesting)
                else:
                    text, end = self._change(value, hosts, start, counts, nesting)
            except (Malformed, UnicodeError, ValueError):
                counts.restore(before)
                if start == first and not is_literal:
                    # A value that was cut, such as by a column that is too short: PHP cannot read it.
                    raise Malformed from None
                counts.spend((end or len(value)) - start)
                continue
            position = end
            yield start, end, text

    def _replace_literal(self, literal: bytes, counts: "_Findings", nesting: int) -> bytes:
        text = json.loads(literal, strict=False).encode()
        changed = self._replace_serialized(text, counts, nesting - 1)
        if changed == text:
            return literal
        encoded = json.dumps(changed.decode(), ensure_ascii=b"\\u" in literal)
        return (encoded.replace("/", "\\/") if b"\\/" in literal else encoded).encode()

    def _replace_text(self, text: bytes, counts: "_Findings") -> bytes:
        lower = text.lower()
        pieces, position = [], 0
        for start, end in self._find_hosts(lower):
            if _AFTER.match(text, end) is None:
                continue
            if lower.endswith(_USUAL, position, start):
                pieces += [text[position : start - len(_USUAL)], _USUAL, self.new]
            elif before := _BEFORE.search(text, max(position, start - _BEFORE_BYTES), start):
                pieces.append(text[position : before.start()])
                if before["scheme"]:
                    pieces += [b"https", before["colon"]]
                pieces += [before["slashes"], self.new]
            else:
                continue
            position = end
            counts.urls += 1
        return b"".join([*pieces, text[position:]]) if pieces else text

    def _find_hosts(self, lower: bytes) -> Iterable[tuple[int, int]]:
        if len(self.old) == 1:
            for at in _find_all(lower, self.old[0]):
                yield at, at + len(self.old[0])
            return
        # The longest host first, so that one that begins like another is found.
        for match in re.finditer(b"|".join(map(re.escape, self.old)), lower):
            yield match.span()


class _HostFinder:
    """Finds hosts in a value that is read from left to right, without searching any part of it twice."""

    def __init__(self, hosts: Iterable[bytes], value: bytes) -> None:
        self._hosts, self._lower = hosts, value.lower()
        self._from, self._next = 0, -1

    def find_next(self, position: int) -> int:
        """Where the next host begins; the length of the value if there is none."""
        if not self._from <= position <= self._next:
            found = (self._lower.find(host, position) for host in self._hosts)
            self._from, self._next = position, min((at for at in found if at >= 0), default=len(self._lower))
        return self._next


class _Findings(ReplacementCounts):
    """What was found in a value. `effort` is how many bytes may still be read."""

    def __init__(self, effort: int) -> None:
        super().__init__()
        self._effort = effort

    def save(self) -> tuple[int, int, int]:
        """Before a part that may turn out to be malformed. Effort is spent nevertheless."""
        return self.urls, self.broken, self.unsupported

    def restore(self, saved: tuple[int, int, int]) -> None:
        self.urls, self.broken, self.unsupported = saved

    def spend(self, read: int) -> None:
        self._effort -= read
        if self._effort < 0:
            raise _TooMuchEffort


class _Unsupported(Exception):
    pass


class _TooMuchEffort(Exception):
    """Ends the work on the whole value."""


def _find_all(text: bytes, wanted: bytes) -> Iterable[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _forms(host: str) -> list[str]:
    try:
        return [host, host.encode("ascii").decode("idna")]
    except UnicodeError:
        return [host]


def _base64_parts(host: bytes) -> list[bytes]:
    """What Base64 makes of `//host` at each of its three alignments, without the ends that depend on what is
    around it."""
    text, parts = b"//" + host, []
    for shift in range(3):
        encoded = b64encode(b"\0" * shift + text)
        first = {0: 0, 1: 2, 2: 3}[shift]
        last = (shift + len(text)) * 8 // 6
        parts.append(encoded[first:last])
    return parts
