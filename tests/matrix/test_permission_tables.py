"""The rules that the matrix expects are not those of the code under test, and both say the same."""

import ast
from pathlib import Path

import pytest

from stead.control.features import all_operations
from stead.control.http.operations import Operation
from stead.shared import roles, scopes
from tests.contract.contract_file import Row, rows
from tests.matrix.permission_tables import (
    ALLOWED_ON_ONESELF,
    ISOLATED,
    NARROWER_THAN_THEIR_SCOPES,
    REFUSED_TO_PINNED_KEYS,
    ROLES,
    SCOPES,
    allowed_by,
    missing_scope,
    row_of,
)

HERE = Path(__file__).parent
ORACLE = ("permission_tables.py", "rules.py", "visibility.py", "world.py")
OF_THE_IMPLEMENTATION = {
    *("stead.shared.roles.MASK", "stead.shared.roles.SITE_VIEWERS", "stead.control.permissions"),
    *("stead.control.http.requirements", "stead.control.http.modes", "stead.control.http.visibility"),
}
DECLARED = ("requires", "role", "account_wide", "own_account_param", "test_keys", "status")
"""Of an operation: what the implementation decides with."""
EACH_ROW = pytest.mark.parametrize("row", rows().values(), ids=lambda row: f"{row.method} {row.path}")


@pytest.mark.parametrize("name", ORACLE)
def test_what_the_matrix_expects_is_not_computed_by_the_code_under_test(name: str):
    tree = ast.parse((HERE / name).read_text())
    imported = {
        f"{node.module}.{each.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    modules = {full.rpartition(".")[0] for full in imported}
    assert not (imported | modules) & OF_THE_IMPLEMENTATION
    assert not any(full.startswith("stead.shared.scopes") for full in imported)
    read = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not read & {f"operation.{each}" for each in DECLARED}
    assert not any(each.endswith(".is_at_least") for each in read)


def test_the_catalog_of_scopes_is_the_described_one():
    assert scopes.CATALOG == SCOPES
    assert set(ISOLATED) == scopes.ISOLATED


@pytest.mark.parametrize("grant", scopes.GRANTABLE)
def test_a_grant_allows_what_the_description_says(grant: str):
    assert scopes.expand([grant]) == allowed_by((grant,))


def test_each_role_allows_the_described_scopes():
    assert {role.value: mask for role, mask in roles.MASK.items()} == ROLES
    assert [role.value for role in roles.Role] == list(ROLES)


@EACH_ROW
def test_the_roles_of_a_row_follow_from_its_scopes(row: Row):
    """Except where the description names them."""
    if not row.roles:
        return
    holding = [role for role, held in ROLES.items() if missing_scope(row, held) is None]
    narrower = NARROWER_THAN_THEIR_SCOPES.get(row.id, tuple(holding))
    assert set(narrower) <= set(holding)
    assert row.roles == tuple(role for role in holding if role in narrower)


def _concerns_a_team(row: Row) -> bool:
    named = {f"{{{each}}}" for each in ("site_id", "team_id", "job_id", "function_id")}
    return not row.public and any(part in named for part in row.path.split("/"))


@EACH_ROW
def test_a_row_has_roles_if_it_names_something_that_a_team_can_have(row: Row):
    assert bool(row.roles) == _concerns_a_team(row)


@pytest.mark.parametrize("operation", all_operations(), ids=lambda operation: operation.id)
def test_a_declaration_asks_for_what_the_tables_say(operation: Operation):
    row = row_of(operation)
    assert operation.requires.scopes == row.scopes
    assert operation.account_wide == (row.id in REFUSED_TO_PINNED_KEYS)
    assert (operation.own_account_param is not None) == (row.id in ALLOWED_ON_ONESELF)
