"""Turns the rules of a site into the form that an edge looks them up in.

An exact path is one look-up in a table. Paths with placeholders or a `*` form a tree with one level for each
segment, so that a request visits only branches that match it.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from stead.artifacts.site_rules import headers_file, redirects_file, site_file
from stead.artifacts.site_rules.rules import (
    FILES,
    MAX_FILE_BYTES,
    MAX_HEADERS_PER_PATH,
    MAX_PER_PATH,
    MAX_WITH_PLACEHOLDERS,
    HeaderRule,
    Pattern,
    Redirect,
    SiteRules,
    split_destination,
)

MAX_COMPILED_BYTES = 3 * 1024 * 1024
_READERS = {
    redirects_file.FILE: redirects_file.read,
    headers_file.FILE: headers_file.read,
    site_file.FILE: site_file.read,
}

Json = dict[str, Any]


def read_rules(folder: Path) -> SiteRules:
    """The rules of the files in a folder: `_redirects` and `_headers` before `stead.json`. A link is not
    followed."""
    rules = SiteRules()
    for name in FILES:
        content = _read_file(folder / name, name, rules)
        if content is not None:
            _READERS[name](content, rules)
    _limit_placeholders(rules)
    _limit_per_path(rules)
    if rules.suppressed:
        rules.warnings.append(f"{rules.suppressed} further warnings are not shown")
    return rules


def check_rules(folder: Path) -> SiteRules:
    """The same, with a warning if they are too large together. Takes longer."""
    rules = read_rules(folder)
    if compile_rules(rules) is None and not rules.is_empty:
        rules.warnings.append(
            f"rules: they need more than {MAX_COMPILED_BYTES >> 20} MB together, so all of them are ignored"
        )
    return rules


def _read_file(path: Path, name: str, rules: SiteRules) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        rules.warn(name, f"it is larger than {MAX_FILE_BYTES // 1024} KiB, so it is ignored")
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        rules.warn(name, "it is not UTF-8, so it is ignored")
        return None


def _limit_placeholders(rules: SiteRules) -> None:
    kept_redirects = _within_limit(rules.redirects)
    kept_headers = _within_limit(rules.headers)
    if len(kept_redirects) < len(rules.redirects) or len(kept_headers) < len(rules.headers):
        rules.warn(
            "rules", f"at most {MAX_WITH_PLACEHOLDERS} paths can have placeholders; the rest is ignored"
        )
    rules.redirects, rules.headers = kept_redirects, kept_headers


def _within_limit(rules: list[Any]) -> list[Any]:
    kept, count = [], 0
    for rule in rules:
        if rule.pattern.names:
            count += 1
            if count > MAX_WITH_PLACEHOLDERS:
                continue
        kept.append(rule)
    return kept


def _limit_per_path(rules: SiteRules) -> None:
    """A request to a path must not have to go through many rules, or through many headers."""
    redirects: Counter[object] = Counter()
    headers: Counter[object] = Counter()
    kept_redirects, kept_headers = [], []
    for redirect in rules.redirects:
        redirects[redirect.pattern.place] += 1
        if redirects[redirect.pattern.place] <= MAX_PER_PATH:
            kept_redirects.append(redirect)
    for rule in rules.headers:
        headers[rule.pattern.place] += len(rule.headers)
        if headers[rule.pattern.place] <= MAX_HEADERS_PER_PATH:
            kept_headers.append(rule)
    if len(kept_redirects) < len(rules.redirects):
        rules.warn("rules", f"a path has at most {MAX_PER_PATH} redirects; the rest is ignored")
    if len(kept_headers) < len(rules.headers):
        rules.warn("rules", f"a path has at most {MAX_HEADERS_PER_PATH} headers; the rest is ignored")
    rules.redirects, rules.headers = kept_redirects, kept_headers


def compile_rules(rules: SiteRules) -> bytes | None:
    """The compiled rules as JSON; None if there are none, or if they would be too large."""
    if rules.is_empty:
        return None
    document: Json = {}
    if rules.redirects:
        index = _Index()
        compiled: list[Json] = []
        for rule in rules.redirects:
            if index.add(rule.pattern, len(compiled) + 1):
                compiled.append(_compile_redirect(rule))
        document["redirects"] = {"rules": compiled, **index.document()}
    if rules.headers:
        document["headers"] = compile_headers(rules.headers)
    content = msgspec.json.encode(document)
    return content if len(content) <= MAX_COMPILED_BYTES else None


def compile_headers(rules: Sequence[HeaderRule]) -> Json:
    merged = _merge(rules)
    index = _Index()
    for number, each in enumerate(merged, 1):
        index.add(each.pattern, number)
    values = [
        [[name, value if value is not None else False] for name, value in rule.headers] for rule in merged
    ]
    return {"rules": values, **index.document()}


class _Index:
    def __init__(self) -> None:
        self._exact: dict[str, list[int]] = {}
        self._tree: Json = {}

    def add(self, pattern: Pattern, number: int) -> bool:
        """Return whether there is room for another rule at this path."""
        if pattern.is_exact:
            numbers = self._exact.setdefault(pattern.exact, [])
        else:
            node = self._tree
            for segment in pattern.segments:
                if segment is None:
                    node = node.setdefault("p", {})
                else:
                    node = node.setdefault("l", {}).setdefault(segment, {})
            numbers = node.setdefault("s" if pattern.has_splat else "i", [])
        if len(numbers) >= MAX_PER_PATH:
            return False
        numbers.append(number)
        return True

    def document(self) -> Json:
        return {
            **({"exact": self._exact} if self._exact else {}),
            **({"tree": self._tree} if self._tree else {}),
        }


def _compile_redirect(rule: Redirect) -> Json:
    """`to` is a text, or literal texts and numbers of captures in turn. Captures are numbered: the
    placeholders of the path, then those of the query. 0 is the rest that `*` matches."""
    captured = [each.capture for each in rule.query if each.capture]
    numbers = {"splat": 0} | {name: at for at, name in enumerate([*rule.pattern.names, *captured], 1)}
    parts = split_destination(rule.to)
    to: Any = parts[0]
    if len(parts) > 1:
        to = [numbers[part] if at % 2 else part for at, part in enumerate(parts)]
    compiled: Json = {"to": to, "status": rule.status}
    if rule.force:
        compiled["force"] = True
    if rule.query:
        compiled["query"] = [[each.name, False if each.value is None else each.value] for each in rule.query]
    return compiled


def _merge(rules: Sequence[HeaderRule]) -> list[HeaderRule]:
    """Rules with the same path become one, at the place of the first."""
    merged: dict[tuple[object, ...], HeaderRule] = {}
    for rule in rules:
        known = merged.get(rule.pattern.place)
        merged[rule.pattern.place] = HeaderRule(rule.pattern, (known.headers if known else ()) + rule.headers)
    return list(merged.values())
