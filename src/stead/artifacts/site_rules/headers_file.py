"""Reads `_headers`: a path, and below it, indented, its headers.

/assets/*
  Cache-Control: public, max-age=31536000, immutable
  ! X-Robots-Tag
"""

from dataclasses import dataclass, field

from stead.artifacts.site_rules.headers import check_count, check_header
from stead.artifacts.site_rules.rules import (
    MAX_HEADER_RULES,
    MAX_LINE,
    HeaderRule,
    Pattern,
    RuleRefused,
    SiteRules,
    parse_pattern,
)

FILE = "_headers"


def read(text: str, into: SiteRules) -> None:
    block: _Block | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{FILE} line {number}"
        try:
            if line[0] in " \t":
                if block is not None:
                    block.add(line)
                continue
            _finish(block, into)
            block = None
            if len(into.headers) >= MAX_HEADER_RULES:
                into.warn(
                    place, f"a site has headers for at most {MAX_HEADER_RULES} paths; the rest is ignored"
                )
                return
            block = _Block(parse_pattern(_limited(line)))
        except RuleRefused as refused:
            into.warn(place, f"{refused}; it is ignored")
    _finish(block, into)


@dataclass(slots=True)
class _Block:
    pattern: Pattern
    headers: list[tuple[str, str | None]] = field(default_factory=list)

    def add(self, line: str) -> None:
        text = _limited(line)
        name, colon, value = text.partition(":")
        if text.startswith("!"):
            header = check_header(text[1:].strip(), None)
        elif colon:
            header = check_header(name.strip(), value.strip())
        else:
            raise RuleRefused("a header is written as Name: value")
        check_count([*self.headers, header])
        self.headers.append(header)


def _limited(line: str) -> str:
    if len(line) > MAX_LINE:
        raise RuleRefused(f"a line has at most {MAX_LINE} characters")
    return line.strip()


def _finish(block: _Block | None, into: SiteRules) -> None:
    if block is not None and block.headers:
        into.headers.append(HeaderRule(block.pattern, tuple(block.headers)))
