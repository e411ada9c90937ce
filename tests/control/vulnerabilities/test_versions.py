"""Versions are ordered as PHP orders them, and missing parts count as zero."""

import itertools

import pytest

from stead.shared.component_versions import version_key

IN_ORDER = (
    *("1.0-xyz", "1.0-dev", "1.0-alpha", "1.0-alpha2", "1.0-beta1", "1.0-beta2", "1.0-RC1", "1.0"),
    # PHP takes "pl" for more than any number.
    *("1.0.0.1", "1.0.1-beta", "1.0.1", "1.0-pl1", "1.1", "1.2", "1.10", "2", "10.0-beta", "10.0"),
)


def test_versions_are_in_the_order_of_php() -> None:
    for lower, higher in itertools.combinations(IN_ORDER, 2):
        assert _key(lower) < _key(higher), (lower, higher)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.0", "1.0.0"),
        ("1", "1.0.0.0"),
        ("v1.2", "1.2"),
        ("1.2-3", "1.2.3"),
        ("1.2_3", "1.2+3"),
        ("1.02", "1.2"),
        ("1.0b1", "1.0-beta.1"),
        ("1.0-rc1", "1.0RC1"),
        ("1.0.0beta", "1.0.0.beta0"),
    ],
)
def test_these_are_the_same_version(one: str, other: str) -> None:
    assert _key(one) == _key(other)


@pytest.mark.parametrize(
    "text", ["", " ", "trunk", "@@VERSION@@", "1" * 200, "1." * 60, "9" * 31, "１.2", "1;2"]
)
def test_what_is_no_version_is_unknown(text: str) -> None:
    assert version_key(text) is None


def test_zeros_before_a_smaller_part_do_not_hide_it() -> None:
    assert _key("1.0.0-beta") < _key("1.0")
    assert _key("1.0-beta") < _key("1.0.0-beta") or _key("1.0-beta") == _key("1.0.0-beta")
    assert _key("1.0.0.1") < _key("1.0.1")


def _key(text: str) -> bytes:
    found = version_key(text)
    assert found is not None, text
    return found
