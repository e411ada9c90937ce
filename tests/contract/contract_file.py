"""The contract: one row per operation of the service, kept beside the repository."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stead.control.http.operations import Operation

REPOSITORY = Path(__file__).parents[2]
PLACE = Path("../shared/contract/operations.yaml")

Key = tuple[str, str]
Scopes = tuple[frozenset[str], bool, bool]
"""The scopes, whether any one of them is enough, whether no credential is needed at all."""


@dataclass(frozen=True)
class Row:
    id: str
    method: str
    path: str
    scopes: Scopes
    status: int
    returns: str
    jobs: frozenset[str]
    capability: str | None
    preview: bool
    is_twin: bool = False
    """It is the form under `…/environments/{env_id}` of a row that names the site's form."""

    @property
    def key(self) -> Key:
        return self.method, normal_path(self.path)


def normal_path(path: str) -> str:
    """Parameters are told apart by their places: their names are ours to choose."""
    return re.sub(r"{\w+}", "{}", path)


def key_of(operation: Operation) -> Key:
    return operation.method, normal_path(operation.path)


def rows() -> dict[Key, Row] | None:
    """Every row by method and path; None when the file is not there."""
    place = REPOSITORY / PLACE
    if not place.exists():
        return None
    written = yaml.safe_load(place.read_text())
    found = [_row(each, each["p"]) for each in [*written["operations"], *written["twin"]]]
    found += [_row(each, _in_environment(each["p"]), is_twin=True) for each in written["twin"]]
    by_key = {row.key: row for row in found}
    assert len(by_key) == len(found), "two rows of the contract share a method and a path"
    return by_key


def _in_environment(path: str) -> str:
    return path.replace("/v1/sites/{site_id}/", "/v1/sites/{site_id}/environments/{env_id}/")


def _row(written: dict[str, Any], path: str, *, is_twin: bool = False) -> Row:
    return Row(
        id=written["op"],
        method=written["m"],
        path=path,
        scopes=_scopes(written["scope"], public=written.get("public", False)),
        status=written["ok"],
        returns=written["returns"],
        jobs=frozenset(written["job"].split("|") if "job" in written else ()),
        capability=written.get("cap"),
        preview=written.get("preview", False),
        is_twin=is_twin,
    )


def _scopes(written: str | list[str] | None, *, public: bool) -> Scopes:
    if written is None:
        return frozenset(), False, public
    if isinstance(written, list):
        return frozenset(written), False, public
    alternatives = frozenset(written.split("|"))
    return alternatives, len(alternatives) > 1, public
