"""What granted scopes allow, and that they never allow more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.shared.scopes import CATALOG, EVERYTHING, GRANTABLE, ISOLATED, UnknownScope, expand, first_excess

grant = st.sampled_from(GRANTABLE)
grants = st.lists(grant, max_size=6)
catalog_scope = st.sampled_from(sorted(CATALOG))


@given(grants, grants)
def test_more_grants_never_allow_less(some: list[str], others: list[str]):
    assert expand(some) <= expand(some + others)


@given(grants)
def test_expanding_twice_changes_nothing(some: list[str]):
    once = expand(some)
    assert expand(once) == once


@given(grants, grants)
def test_combined_grants_allow_exactly_what_each_of_them_allows(some: list[str], others: list[str]):
    assert expand(some + others) == expand(some) | expand(others)


@given(st.lists(grant, max_size=6).flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))))
def test_the_order_of_grants_does_not_matter(pair: tuple[list[str], list[str]]):
    some, shuffled = pair
    assert expand(some) == expand(shuffled + shuffled)


@given(grants)
def test_a_grant_allows_only_scopes_of_the_catalog(some: list[str]):
    assert expand(some) <= CATALOG


@given(catalog_scope)
def test_a_scope_allows_itself(scope: str):
    assert scope in expand([scope])


@given(catalog_scope)
def test_a_named_scope_never_reaches_another_resource(scope: str):
    resource = scope.partition(":")[0]
    assert {each.partition(":")[0] for each in expand([scope])} == {resource}


@pytest.mark.parametrize("scope", sorted(scope for scope in CATALOG if scope.endswith(":write")))
def test_write_implies_read_if_the_resource_has_a_read_scope(scope: str):
    read = scope.replace(":write", ":read")
    assert (read in expand([scope])) == (read in CATALOG)
    if read in CATALOG:
        assert scope not in expand([read])


@pytest.mark.parametrize("resource", ["account", "teams", "sites"])
def test_admin_implies_write_and_read_and_nothing_implies_admin(resource: str):
    assert expand([f"{resource}:admin"]) == {f"{resource}:{step}" for step in ("read", "write", "admin")}
    assert f"{resource}:admin" not in expand([f"{resource}:write"])


@pytest.mark.parametrize("wildcard", [scope for scope in GRANTABLE if scope.endswith(":*")])
def test_a_resource_wildcard_is_every_action_on_that_resource(wildcard: str):
    resource = wildcard.removesuffix(":*")
    assert expand([wildcard]) == {scope for scope in CATALOG if scope.partition(":")[0] == resource}


@pytest.mark.parametrize("resource", ["cms", "s", "site", "cms.", "keys", "credentials", "exec"])
def test_there_is_no_wildcard_for_a_prefix_or_an_isolated_resource(resource: str):
    with pytest.raises(UnknownScope):
        expand([f"{resource}:*"])


def test_the_global_wildcard_is_everything_but_the_isolated_scopes():
    assert expand([EVERYTHING]) == CATALOG - ISOLATED


def test_the_isolated_scopes_are_those_of_the_contract():
    assert {"credentials:read", "credentials:write", "exec:raw", "keys:read", "keys:write"} == ISOLATED


@given(st.lists(st.sampled_from([scope for scope in GRANTABLE if "*" in scope])))
def test_no_set_of_wildcards_contains_an_isolated_scope(wildcards: list[str]):
    assert not expand(wildcards) & ISOLATED


@given(grants)
def test_an_isolated_scope_is_allowed_only_if_it_is_granted_by_name(some: list[str]):
    named = {scope.partition(":")[0] for scope in some if scope in ISOLATED}
    assert {scope.partition(":")[0] for scope in expand(some) & ISOLATED} == named


@pytest.mark.parametrize("standalone", ["cms.cli:exec", "exec:raw"])
def test_standalone_actions_are_never_implied_by_read_write_or_admin(standalone: str):
    chain = [scope for scope in CATALOG if scope.endswith((":read", ":write", ":admin"))]
    assert standalone not in expand(chain)
    assert expand([standalone]) == {standalone}


@pytest.mark.parametrize("grant_", ["security:read", "security:write", "security:*", "observability:read"])
def test_vulnerabilities_are_not_implied_by_security(grant_: str):
    assert "vulnerabilities:read" not in expand([grant_])


@given(grants, grants)
def test_first_excess_agrees_with_set_inclusion(wanted: list[str], held: list[str]):
    allowed = expand(held)
    first = first_excess(wanted, allowed)
    assert (first is None) == (expand(wanted) <= allowed)
    if first is not None:
        place = wanted.index(first)
        assert not expand([first]) <= allowed
        assert expand(wanted[:place]) <= allowed


@given(st.lists(catalog_scope, max_size=8), grants, grants)
def test_narrowing_is_transitive(wide: list[str], narrow: list[str], narrower: list[str]):
    if first_excess(narrow, expand(wide)) is None and first_excess(narrower, expand(narrow)) is None:
        assert first_excess(narrower, expand(wide)) is None


@given(grants.flatmap(lambda some: st.tuples(st.just(some), st.sets(st.sampled_from(sorted(CATALOG))))))
def test_a_lost_scope_cannot_be_regained(pair: tuple[list[str], set[str]]):
    held, kept = pair
    narrowed = expand(held) & expand(kept)
    for lost in expand(held) - narrowed:
        assert first_excess([lost], narrowed) == lost


@given(st.text(max_size=30).filter(lambda text: text not in GRANTABLE))
def test_an_unknown_name_is_refused(name: str):
    with pytest.raises(UnknownScope):
        expand([name])
    with pytest.raises(UnknownScope):
        first_excess(["sites:read", name], CATALOG)


@pytest.mark.parametrize(
    "name",
    ["", ":", "*:*", "*:read", "sites", "sites:", ":read", "Sites:read", "sites:read ", "sites:read\n", "**"],
)
def test_a_name_that_only_looks_like_a_scope_is_refused(name: str):
    with pytest.raises(UnknownScope):
        expand([name])


def test_nothing_granted_allows_nothing():
    assert expand([]) == frozenset()
    assert first_excess([], frozenset()) is None
