"""Reads `_redirects`: one rule on each line.

/old              /new                     301
/blog/:year/*     /archive/:year/:splat    302!
/shop  id=:id     /products/:id
/*                /index.html              200
"""

import re
from urllib.parse import unquote_plus

from stead.artifacts.site_rules.rules import (
    MAX_LINE,
    MAX_REDIRECTS,
    NAME,
    QueryCondition,
    Redirect,
    RuleRefused,
    SiteRules,
    check_redirect,
    parse_pattern,
)

FILE = "_redirects"
_STATUS = re.compile(r"([1-5]\d\d)(!?)", re.ASCII)


def read(text: str, into: SiteRules) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        tokens = _tokens(line.rstrip("\r"))
        if not tokens:
            continue
        place = f"{FILE} line {number}"
        if len(into.redirects) >= MAX_REDIRECTS:
            into.warn(
                place, f"a site has at most {MAX_REDIRECTS} rules; this one and those after it are ignored"
            )
            return
        try:
            into.redirects.append(_parse(line, tokens))
        except RuleRefused as refused:
            into.warn(place, f"{refused}; the rule is ignored")


def _tokens(line: str) -> list[str]:
    tokens = []
    for token in line.split():
        if token.startswith("#"):
            break
        tokens.append(token)
    return tokens


def _parse(line: str, tokens: list[str]) -> Redirect:
    if len(line) > MAX_LINE:
        raise RuleRefused(f"a line has at most {MAX_LINE} characters")
    pattern = parse_pattern(tokens[0])
    query: list[QueryCondition] = []
    rest = tokens[1:]
    while rest and "=" in rest[0] and not rest[0].startswith(("/", "http://", "https://")):
        query.append(_condition(rest.pop(0)))
    if not rest:
        raise RuleRefused("it has no destination")
    to, *options = rest
    status, force = 301, False
    if options and (found := _STATUS.fullmatch(options[0])):
        status, force = int(found[1]), found[2] == "!"
        options = options[1:]
    if options:
        raise RuleRefused(f"the condition {options[0][:60]} is not supported")
    return check_redirect(Redirect(pattern, to, status, force, tuple(query)))


def _condition(token: str) -> QueryCondition:
    name, _, value = token.partition("=")
    placeholder = NAME.fullmatch(value)
    if placeholder:
        return QueryCondition(unquote_plus(name), None, placeholder[1])
    return QueryCondition(unquote_plus(name), unquote_plus(value))
