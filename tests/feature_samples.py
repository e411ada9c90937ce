"""What a feature tells the suites that cover every operation.

A feature whose operations need data of their own has `tests/control/<feature>/samples.py` with a constant
`SAMPLES`. The contract walk, the permission matrix and the tenant suite read them all. The fault suite reads
`fault_scenarios.py` beside it.
"""

import importlib
import importlib.util
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from stead.control.engines.postgres import Tx
from stead.control.features import FEATURES
from stead.shared.errors import NotFound
from stead.shared.runtimes import Runtime
from tests.people import Person

if TYPE_CHECKING:
    import httpx

    from tests.contract.contract_file import Row
    from tests.matrix.asking import Asking
    from tests.matrix.rules import Expected
    from tests.matrix.world import Caller, Flavour, Thing, World

Values = Mapping[str, str]
PathMaker = Callable[[Person, Values], Awaitable[str]]
"""Creates what a path parameter names, for a person; receives the values of the parameters to its left."""
BodyMaker = Callable[[Person, Values], Awaitable[dict[str, Any]]]
"""Fields of the body that must differ from the documented example for the operation to succeed."""


@dataclass(frozen=True, kw_only=True)
class Samples:
    path_makers: Mapping[str, PathMaker] = field(default_factory=dict)
    """By the name of the path parameter."""
    path_makers_of: Mapping[str, Mapping[str, PathMaker]] = field(default_factory=dict)
    """For operations that need a resource in a particular state: by operation id, then by parameter."""
    body_makers: Mapping[str, BodyMaker] = field(default_factory=dict)
    """By operation id."""
    runtimes: Mapping[str, Runtime] = field(default_factory=dict)
    """The runtime of the sites that an operation is for, by operation id, where no capability says it."""

    visibility: Mapping[type, tuple["Callable[[World, Caller, Thing], bool]", type[NotFound]]] = field(
        default_factory=dict
    )
    """For each `Visible…` type: who sees it, and the error for everybody else."""
    make_things: "Callable[[Tx, World], Awaitable[None]] | None" = None
    """Adds one of each of the feature's resources to a world of the matrix."""
    path_ids: "Mapping[str, Callable[[Asking], str]]" = field(default_factory=dict)
    """The identifier for a path parameter in a world of the matrix."""
    body_values: "Mapping[str, Callable[[Asking], Any]]" = field(default_factory=dict)
    """Fields whose documented example cannot hold in a world: by name, or by shape and name."""
    more_expected: "Mapping[str, Callable[[World, Caller, Flavour], Expected | None]]" = field(
        default_factory=dict
    )
    """Operations whose description asks for more than their declaration can say."""
    foreign_ids: "Mapping[str, tuple[str, Callable[[World, Flavour], str] | None]]" = field(
        default_factory=dict
    )
    """Body fields that name a resource: the code that another tenant's identifier is refused with, and how
    to get such an identifier."""

    extension_rows: "tuple[Row, ...]" = ()
    """Rows of operations that the contract does not list: what they need, and which roles may call them."""
    open_to_test_keys: frozenset[str] = frozenset()
    """Mutations that a test credential may call, because they change only things in test mode."""

    silent_operations: Mapping[str, str] = field(default_factory=dict)
    """Mutations that publish no event, by operation id, with the reason."""
    audit_locations: "Mapping[str, Callable[[Asking, httpx.Response], tuple[str | None, str | None]]]" = (
        field(default_factory=dict)
    )
    """The team and site of the audit entry, for operations whose path does not contain them."""
    audit_entries: Mapping[str, int] = field(default_factory=dict)
    """The number of audit entries of an operation that writes more than one."""


@cache
def all_samples() -> tuple[Samples, ...]:
    modules = [f"tests.control.{feature.name}.samples" for feature in FEATURES]
    return tuple(importlib.import_module(name).SAMPLES for name in modules if _exists(name))


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # The feature has no tests of its own, so there is no package to look into.
        return False


def merged(name: str) -> dict[Any, Any]:
    """One mapping of all features, given as mappings or as functions that return one. No two features may
    give the same key."""
    found: dict[Any, Any] = {}
    for samples in all_samples():
        value = getattr(samples, name)
        given = (value() if callable(value) else value) or {}
        assert not found.keys() & given.keys(), f"two features give {found.keys() & given.keys()} of {name}"
        found |= given
    return found
