"""Scopes and roles as the description of the service states them, written down a second time.

`roles.csv` has a line for each scope and a column for each role. Nothing here is computed by the code under
test. `test_permission_tables.py` compares the two, and the matrix
asks the API.
"""

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from stead.control.http.operations import Operation
from tests.contract.contract_file import Key, Row, key_of, rows
from tests.feature_samples import all_samples

with (Path(__file__).parent / "roles.csv").open(newline="") as _file:
    _TABLE = list(csv.DictReader(_file))

SCOPES = frozenset(line["scope"] for line in _TABLE)
ISOLATED = ("credentials:read", "credentials:write", "exec:raw", "keys:read", "keys:write")
"""In no wildcard."""
FULL_GRANT = ("*", *ISOLATED)
IMPLIED_BY = {"read": ("write", "admin"), "write": ("admin",)}
"""The actions that imply this one, on the same resource."""

ROLES = {
    role: frozenset(line["scope"] for line in _TABLE if line[role] == "yes")
    for role in ("owner", "admin", "site_manager", "observer", "billing")
}
"""The scopes that each role allows at most, from the most to the least powerful role."""
SITE_VIEWERS = ("owner", "admin", "site_manager", "observer")
ADMINISTRATORS = ("owner", "admin")

NARROWER_THAN_THEIR_SCOPES = {
    "teams.delete": ("owner",),
    "teams.audit": ADMINISTRATORS,
    "invites.list": ADMINISTRATORS,
    **dict.fromkeys(("teams.sites", "members.list"), SITE_VIEWERS),
    **dict.fromkeys((f"team_projects.{verb}" for verb in ("list", "get", "sites")), SITE_VIEWERS),
}
"""Operations for fewer roles than have their scopes: owner-only and admin-only ones, and those that the role
for billing has no use for."""

REFUSED_TO_PINNED_KEYS = {
    *("account.update", "account.close", "account.send_verification", "sessions.list"),
    "sessions.revoke_one",
    *("teams.create", "projects.create", "invites.accept", "notification_preferences.replace"),
    *(f"device_authorizations.{verb}" for verb in ("get", "approve", "deny")),
}
"""They concern the account as a whole, which a pinned key does not see."""
ALLOWED_ON_ONESELF = {"members.remove"}
"""Whatever the role: every member may leave."""


@cache
def _all_rows() -> dict[Key, Row]:
    extensions = {row.key: row for samples in all_samples() for row in samples.extension_rows}
    return rows() | extensions


def row_of(operation: Operation) -> Row:
    found = _all_rows().get(key_of(operation))
    assert found is not None, (
        f"{operation.id} is not in tests/contract/operations.csv; an extension needs a row in"
        " `extension_rows` of the feature's samples.py (see tests/feature_samples.py)"
    )
    return found


def allows(granted: Iterable[str], scope: str) -> bool:
    """Whether a key with these grants has the scope."""
    resource, action = scope.split(":")
    enough = {scope, *(f"{resource}:{each}" for each in IMPLIED_BY.get(action, ()))}
    if scope not in ISOLATED:
        enough |= {"*", f"{resource}:*"}
    return any(grant in enough for grant in granted)


@cache
def allowed_by(granted: tuple[str, ...]) -> frozenset[str]:
    return frozenset(scope for scope in SCOPES if allows(granted, scope))


@cache
def everything_without(lacking: frozenset[str]) -> tuple[str, ...]:
    """Every scope that does not allow any of these."""
    return tuple(scope for scope in sorted(SCOPES) if not allowed_by((scope,)) & lacking)


def missing_scope(row: Row, held: frozenset[str]) -> str | None:
    """What an error message names; None if nothing is missing."""
    missing = [scope for scope in row.scopes if scope not in held]
    if row.any_one:
        return " or ".join(missing) if missing == list(row.scopes) else None
    return missing[0] if missing else None
