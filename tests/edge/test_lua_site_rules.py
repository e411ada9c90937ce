"""The rules of static sites: whatever a file contains, and Lua compared with a model that tries all rules."""

import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stead.artifacts.site_rules import headers_file, redirects_file, site_file
from stead.artifacts.site_rules.compiler import MAX_COMPILED_BYTES, compile_rules, read_rules
from stead.artifacts.site_rules.rules import MAX_WARNINGS, Redirect, SiteRules, parse_pattern
from tests.edge.lua import module, runtime

LUA = runtime()
RULES = module(LUA, "site_rules")
PARTS = st.sampled_from(["a", "b", ":x", ":y", "*", "%41", "ü", ".", "..", "", "a*", ":", "c d"])
PATHS = st.lists(PARTS, max_size=5).map(lambda parts: "/" + "/".join(parts))
LINES = st.tuples(
    PATHS, st.sampled_from(["", "q=1", "q=:q"]), PATHS, st.sampled_from(["", "200", "301!", "404", "302"])
)


def to_lua(value: Any) -> Any:
    if isinstance(value, dict):
        return LUA.table_from({_bytes(name): to_lua(each) for name, each in value.items()})
    if isinstance(value, list):
        return LUA.table_from([to_lua(each) for each in value])
    return _bytes(value)


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def matches(rule: Redirect, path: str) -> bool:
    asked = path.rstrip("/").split("/")[1:]
    segments = rule.pattern.segments
    if len(asked) < len(segments) or (len(asked) > len(segments) and not rule.pattern.has_splat):
        return False
    return all(
        (wanted == given if wanted is not None else given != "")
        for wanted, given in zip(segments, asked, strict=False)
    )


def naive(rules: list[Redirect], path: str, *, forced: bool) -> Redirect | None:
    return next((rule for rule in rules if rule.force == forced and matches(rule, path)), None)


@given(
    st.lists(LINES, max_size=12),
    st.lists(st.sampled_from(["a", "b", "A", "ü", "z"]), max_size=5),
    st.booleans(),
)
def test_the_first_rule_that_matches_is_chosen(
    lines: list[tuple[str, ...]], asked: list[str], forced: bool
) -> None:
    rules = SiteRules()
    redirects_file.read("\n".join(" ".join((line[0], line[2], line[3])) for line in lines), rules)
    compiled = compile_rules(rules)
    if compiled is None:
        return
    document = to_lua(msgspec.json.decode(compiled))
    path = "/" + "/".join(asked)
    found = RULES.find(document, path.encode(), forced, None)
    expected = naive(rules.redirects, path, forced=forced)
    if expected is None:
        assert found is None or found[0] is None
    else:
        assert found[0][b"status"] == expected.status
        location = RULES.location(found[0][b"to"], found[1], None)
        assert location.startswith(b"/")
        assert not location.startswith((b"//", b"/\\"))


@given(st.binary(max_size=2000), st.binary(max_size=2000), st.binary(max_size=2000))
def test_any_content_is_read_within_limits(redirects: bytes, headers: bytes, settings: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in (("_redirects", redirects), ("_headers", headers), ("stead.json", settings)):
            (folder / file).write_bytes(content)
        rules = read_rules(folder)
    assert len(rules.warnings) <= MAX_WARNINGS + 1
    assert all(len(warning) < 300 for warning in rules.warnings)
    assert len(compile_rules(rules) or b"") <= MAX_COMPILED_BYTES


@given(st.text(max_size=500))
def test_any_text_becomes_headers_without_control_characters(text: str) -> None:
    rules = SiteRules()
    headers_file.read(f"/*\n  X-A: {text}\n  {text}: b\n", rules)
    for rule in rules.headers:
        for name, value in rule.headers:
            assert name.isascii()
            assert value is None or (value.isascii() and value.isprintable())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["redirects", "headers", "from", "to", "for", "values", "status", "query", "spa"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=15,
    )
)
def test_any_json_is_read(value: Any) -> None:
    site_file.read(msgspec.json.encode(value).decode(), SiteRules())


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("/leaked /secret")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "_redirects").symlink_to(tmp_path / "secret")
    assert read_rules(folder).is_empty


def test_a_capture_cannot_change_the_host() -> None:
    captures = LUA.table_from({0: b"@evil.example/x", 1: b"..//evil"})
    assert (
        RULES.location(to_lua(["https://ours.example/", 0, ""]), captures, None)
        == b"https://ours.example/@evil.example/x"
    )
    assert (
        RULES.location(to_lua(["/", 0, ""]), LUA.table_from({0: b"/evil.example"}), None) == b"/evil.example"
    )
    assert parse_pattern("/a/").exact == "/a"
