"""The contract: one row per operation of the service.

`operations.csv` is the copy of this repository, so that the checks do not depend on what is beside the
checkout. Where the original is there, `test_contract.py` compares the two. The columns:

- `scopes`: `a+b` needs both, `a|b` either, `any` any credential, `public` none
- `roles`: the roles that may do it with what a team has; empty if it concerns only the caller's own
- `notes`: `preview`; `twin` for the form under `…/environments/{env_id}` of a row that names the site's form
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from stead.control.http.operations import Operation

REPOSITORY = Path(__file__).parents[2]
ORIGINAL = Path("../shared/contract/operations.yaml")
COPY = Path(__file__).parent / "operations.csv"

Key = tuple[str, str]


@dataclass(frozen=True)
class Row:
    id: str
    method: str
    path: str
    scopes: tuple[str, ...]
    status: int
    answer: str
    roles: tuple[str, ...] = ()
    jobs: frozenset[str] = frozenset()
    capability: str | None = None
    any_one: bool = False
    """Any one of the scopes is enough."""
    public: bool = False
    preview: bool = False
    is_twin: bool = False

    @property
    def key(self) -> Key:
        return self.method, normal_path(self.path)


def normal_path(path: str) -> str:
    """Parameters are told apart by their places: their names are ours to choose."""
    return re.sub(r"{\w+}", "{}", path)


def key_of(operation: Operation) -> Key:
    return operation.method, normal_path(operation.path)


@cache
def rows() -> dict[Key, Row]:
    """Every row of the copy, by method and path."""
    with COPY.open(newline="") as file:
        return _by_key(_copied_row(each) for each in csv.DictReader(file))


def original_rows() -> dict[Key, Row] | None:
    """Every row of the original, which does not say the roles. None when it is not there."""
    place = REPOSITORY / ORIGINAL
    if not place.exists():
        return None
    written = yaml.safe_load(place.read_text())
    found = [_original_row(each, each["p"]) for each in [*written["operations"], *written["twin"]]]
    found += [_original_row(each, _in_environment(each["p"]), is_twin=True) for each in written["twin"]]
    return _by_key(found)


def _by_key(found: Iterable[Row]) -> dict[Key, Row]:
    listed = list(found)
    by_key = {row.key: row for row in listed}
    assert len(by_key) == len(listed), "two rows of the contract share a method and a path"
    return by_key


def _in_environment(path: str) -> str:
    return path.replace("/v1/sites/{site_id}/", "/v1/sites/{site_id}/environments/{env_id}/")


def _copied_row(written: dict[str, str]) -> Row:
    scopes, notes = written["scopes"], written["notes"].split()
    return Row(
        id=written["id"],
        method=written["method"],
        path=written["path"],
        scopes=() if scopes in ("any", "public") else tuple(re.split(r"[+|]", scopes)),
        status=int(written["status"]),
        answer=written["answer"],
        roles=tuple(written["roles"].split()),
        jobs=_jobs(written["jobs"]),
        capability=written["capability"] or None,
        any_one="|" in scopes,
        public=scopes == "public",
        preview="preview" in notes,
        is_twin="twin" in notes,
    )


def _original_row(written: dict[str, Any], path: str, *, is_twin: bool = False) -> Row:
    scope = written["scope"] or []
    scopes = tuple(scope if isinstance(scope, list) else scope.split("|"))
    return Row(
        id=written["op"],
        method=written["m"],
        path=path,
        scopes=scopes,
        status=written["ok"],
        answer=written["returns"],
        jobs=_jobs(written.get("job", "")),
        capability=written.get("cap"),
        any_one=isinstance(scope, str) and len(scopes) > 1,
        public=written.get("public", False),
        preview=written.get("preview", False),
        is_twin=is_twin,
    )


def _jobs(written: str) -> frozenset[str]:
    return frozenset(written.split("|") if written else ())
