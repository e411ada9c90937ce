"""Redirect rules: precedence, validation and redirect loops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.control.redirects.rules import (
    MAX_HOPS,
    RedirectRule,
    RuleMatcher,
    build_redirect_set,
    split_into_parts,
    validate,
)
from stead.shared.errors import FieldInvalid

HOSTS = frozenset({"example.com"})

paths = st.text("ab/", min_size=0, max_size=4).map(lambda text: f"/{text}")
sources = st.tuples(paths, st.sampled_from(["", "*"])).map("".join)
destinations = st.one_of(
    sources, sources.map(lambda path: f"https://example.com{path}"), st.just("https://elsewhere.example/a*")
).filter(lambda text: not text.startswith("//"))
rule_sets = st.lists(
    st.builds(RedirectRule, sources, destinations, st.just(301)),
    max_size=6,
    unique_by=lambda rule: rule.from_,
)


def rule(source: str, destination: str) -> RedirectRule:
    return RedirectRule(source, destination, 301)


def follow(rules: list[RedirectRule], path: str) -> int:
    """How many redirects a visitor follows, found by trying every rule; at most 50."""
    for hops in range(50):
        exact = [each for each in rules if each.from_ == path]
        prefixed = [each for each in rules if each.from_.endswith("*") and path.startswith(each.from_[:-1])]
        found = exact or sorted(prefixed, key=lambda each: -len(each.from_))
        if not found:
            return hops
        rest = "" if exact else path[len(found[0].from_) - 1 :]
        to = found[0].to[:-1] + rest if found[0].to.endswith("*") else found[0].to
        if to.startswith("https://elsewhere"):
            return hops
        path = to.removeprefix("https://example.com") or "/"
    return 50


@given(rule_sets)
def test_every_accepted_rule_leads_to_a_page(rules: list[RedirectRule]) -> None:
    try:
        validate(rules, HOSTS)
    except FieldInvalid:
        return
    for each in rules:
        asked = each.from_[:-1] + "~" if each.from_.endswith("*") else each.from_
        assert follow(rules, asked) <= MAX_HOPS


@given(rule_sets, st.text("ab/~", max_size=6).map(lambda text: f"/{text}"))
def test_the_order_of_the_rules_does_not_matter(rules: list[RedirectRule], path: str) -> None:
    assert RuleMatcher(rules).find(path) == RuleMatcher(rules[::-1]).find(path)


@pytest.mark.parametrize(
    "rules",
    [
        [rule("/a", "/a")],
        [rule("/a", "/b"), rule("/b", "/a")],
        [rule("/a*", "/ab*")],
        [rule("/a*", "/b*"), rule("/b*", "/a*")],
        [rule("/a*", "/b"), rule("/b", "/a")],
        [rule("/a", "https://example.com/a")],
        [rule("/a", "https://EXAMPLE.com/a?again")],
        [rule("/*", "/all/*")],
    ],
    ids=lambda rules: " ".join(f"{each.from_}->{each.to}" for each in rules),
)
def test_a_redirect_loop_is_refused_naming_the_rule(rules: list[RedirectRule]) -> None:
    with pytest.raises(FieldInvalid) as refused:
        validate(rules, HOSTS)
    assert refused.value.param == "redirects.0.to"


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ([rule("/a*b", "/c")], "redirects.0.from"),
        ([rule("/a", "/c"), rule("/a", "/d")], "redirects.1.from"),
        ([rule("/a", "//evil.example")], "redirects.0.to"),
        ([rule("/a", "https://")], "redirects.0.to"),
        ([rule("/a", "http://[")], "redirects.0.to"),
    ],
)
def test_an_invalid_rule_is_refused(wrong: list[RedirectRule], param: str) -> None:
    with pytest.raises(FieldInvalid) as refused:
        validate(wrong, HOSTS)
    assert refused.value.param == param


def test_five_thousand_long_rules_are_split_into_parts_that_fit_a_message() -> None:
    rules = [rule(f"/{n:04}{'x' * 1990}", f"/{n:04}{'y' * 1990}") for n in range(5000)]
    parts = list(split_into_parts(rules, build_redirect_set(rules).version))
    assert [each.path for part in parts for each in part.rules] == [each.from_ for each in rules]
    assert max(sum(len(each.path) + len(each.to) for each in part.rules) for part in parts) < 512 * 1024


def test_the_size_of_a_set_is_limited() -> None:
    """Every edge of the region keeps all redirects in memory, which the sites share."""
    fitting = [rule(f"/{n:04}{'x' * 47}", f"/{'y' * 50}") for n in range(5000)]
    validate(fitting, HOSTS)
    with pytest.raises(FieldInvalid) as refused:
        validate([rule(f"/{n:04}{'x' * 1990}", f"/{'y' * 1990}") for n in range(200)], HOSTS)
    assert refused.value.param == "redirects"


def test_the_number_of_prefix_lengths_is_limited() -> None:
    """A visit costs one look-up for each length."""
    validate([rule("/" + "x" * n + "*", "/") for n in range(1, 257)], HOSTS)
    with pytest.raises(FieldInvalid) as refused:
        validate([rule("/" + "x" * n + "*", "/") for n in range(1, 258)], HOSTS)
    assert refused.value.param == "redirects"
