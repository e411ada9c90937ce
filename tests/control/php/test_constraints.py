"""Constraints as they are written in composer.json, compared with what Composer says about them."""

import pytest

from stead.control.php.constraints import allows

VERSIONS = ("8.2", "8.3", "8.4", "8.5")

ALLOWED = {
    "*": VERSIONS,
    ">=7.4": VERSIONS,
    ">= 8.3": ("8.3", "8.4", "8.5"),
    ">8.3": ("8.3", "8.4", "8.5"),
    ">=8.3.12": ("8.3", "8.4", "8.5"),
    "^8": VERSIONS,
    "^8.1": VERSIONS,
    "^8.3": ("8.3", "8.4", "8.5"),
    "^7.4": (),
    "^7.4 || ^8.0": VERSIONS,
    "^7.4|^8.4": ("8.4", "8.5"),
    "~8": VERSIONS,
    "~8.2": VERSIONS,
    "~8.2.0": ("8.2",),
    "~8.2.0 || ~8.3.0": ("8.2", "8.3"),
    "~8.1.0 || ~8.2.0 || ~8.3.0 || ~8.4.0": ("8.2", "8.3", "8.4"),
    "8.2.*": ("8.2",),
    "8.*": VERSIONS,
    "8.x": VERSIONS,
    "8.3": ("8.3",),
    "=8.3.1": ("8.3",),
    "v8.3.1": ("8.3",),
    "<8.4": ("8.2", "8.3"),
    "<=8.3.99": ("8.2", "8.3"),
    "<8": (),
    ">=7.2,<8.4": ("8.2", "8.3"),
    ">=7.2, <8.4": ("8.2", "8.3"),
    ">=7.2 <8.4": ("8.2", "8.3"),
    ">= 7.2 < 8.4": ("8.2", "8.3"),
    ">=8.3 <8.3": (),
    "7.4 - 8.2": ("8.2",),
    "8.0 - 8.3": ("8.2", "8.3"),
    "8.0 - 8.3.1 || 8.5.*": ("8.2", "8.3", "8.5"),
    "!=8.3.1": VERSIONS,
    "^8.1 !=8.3.0": VERSIONS,
    ">=8.3@dev": ("8.3", "8.4", "8.5"),
    ">=8.3.0-dev": ("8.3", "8.4", "8.5"),
    "^8.1, <8.4.0-dev": ("8.2", "8.3"),
    "dev-main || ^8.4": ("8.4", "8.5"),
}


@pytest.mark.parametrize("constraint", ALLOWED)
def test_a_constraint_allows_the_versions_that_composer_allows(constraint: str) -> None:
    found = tuple(version for version in VERSIONS if allows(constraint, version))
    assert found == ALLOWED[constraint]


@pytest.mark.parametrize(
    "constraint", ["", "latest", "dev-main", "^8.1 as 8.4", "^0.3", ">8.*", "8..3", "^", "8.3 -", "x" * 5000]
)
def test_what_is_not_understood_is_not_known(constraint: str) -> None:
    assert allows(constraint, "8.4") is None


@pytest.mark.parametrize("part", [">=8.1 ", "8 - ", "||", " ", "8."])
def test_a_long_constraint_is_not_read(part: str) -> None:
    assert allows("8.4 || " + part * 200_000, "8.4") is None
