"""Branch rules: patterns, targets and validation."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.control.git.branch_rules import BranchPattern, BranchRule, Target, check_rules, choose_target
from stead.shared.errors import FieldInvalid
from tests.patience import slowdown


def rules(targets: dict[str, Target]) -> list[BranchRule]:
    return [BranchRule(pattern, target) for pattern, target in targets.items()]


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("main", "main", True),
        ("main", "Main", False),
        ("main", "main2", False),
        ("feature/*", "feature/shop", True),
        ("feature/*", "feature/shop/cart", False),
        ("feature/*", "features/shop", False),
        ("feature/**", "feature/shop/cart", True),
        ("**", "feature/shop/cart", True),
        ("*", "feature/shop", False),
        ("*", "main", True),
        ("release-*.x", "release-2.x", True),
        ("release-*.x", "release-2yx", False),
        ("*/fix-*", "ada/fix-1", True),
        ("**/fix-*", "a/b/fix-1", True),
        ("**/fix-*", "fix-1", False),
    ],
)
def test_branch_patterns(pattern: str, name: str, matches: bool):
    assert BranchPattern(pattern).matches(name) is matches


_PATTERNS = st.lists(st.sampled_from(["a", "b", "/", "*", "**", "."]), min_size=1, max_size=12).map("".join)
_NAMES = st.text("ab/.", max_size=12)


@given(pattern=_PATTERNS, name=_NAMES)
def test_a_pattern_matches_the_same_names_as_the_equivalent_regular_expression(pattern: str, name: str):
    if "***" in pattern:
        return
    same = "".join(
        {"**": ".*", "*": "[^/]*"}.get(token, re.escape(token)) for token in re.findall(r"\*\*|.", pattern)
    )
    assert BranchPattern(pattern).matches(name) == bool(re.fullmatch(same, name))


def test_matching_is_fast_for_any_pattern():
    pattern, name = "*a" * 100, "a" * 199 + "b"
    begun = time.perf_counter()
    assert not BranchPattern(pattern).matches(name)
    assert time.perf_counter() - begun < slowdown()


def test_the_first_matching_rule_applies():
    ordered = rules({"feature/live": "live", "feature/*": "preview", "**": "staging"})
    assert [choose_target(ordered, None, name) for name in ("feature/live", "feature/x", "other")] == [
        "live",
        "preview",
        "staging",
    ]
    assert choose_target(ordered[::-1], None, "feature/live") == "staging"


def test_without_rules_the_sites_own_branch_is_live_and_others_are_ignored():
    assert [choose_target([], "main", name) for name in ("main", "other", "mai")] == [
        "live",
        "ignore",
        "ignore",
    ]
    assert choose_target([], None, "main") == "ignore"


def test_the_sites_own_branch_stays_live_unless_a_rule_matches_it():
    assert choose_target(rules({"feature/*": "preview"}), "main", "main") == "live"
    assert choose_target(rules({"main": "staging"}), "main", "main") == "staging"
    assert choose_target(rules({"**": "ignore"}), "main", "main") == "ignore"


@pytest.mark.parametrize(
    "pattern",
    [
        *("", "-x", "/a", "a/", "a//b", "a..b", "a/.b", "***", "a***b", "a b", "a\n", "a?", "[a]", "{a,b}"),
        *("a\\b", "a:b", "a~", "a^", "ä", "a" * 201, "a.lock", "!main", "^main$"),
    ],
    ids=ascii,
)
def test_an_invalid_pattern_is_refused_with_its_position(pattern: str):
    with pytest.raises(FieldInvalid) as refused:
        check_rules([BranchRule("main", "live"), BranchRule(pattern, "preview")])
    assert refused.value.param == "rules.1.pattern"


def test_a_repeated_pattern_is_refused():
    with pytest.raises(FieldInvalid) as refused:
        check_rules([BranchRule("main", "live"), BranchRule("a", "preview"), BranchRule("main", "staging")])
    assert refused.value.param == "rules.2.pattern"
