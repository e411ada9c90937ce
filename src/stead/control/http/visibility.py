"""Resolvers: the only way from an identifier in a path to a resource in a handler.

    async def visible_key(call: Call, key_id: str) -> VisibleKey:

A resolver runs the visibility query of its resource and raises that resource's `…NotFound`, so a missing
resource and one that the caller may not see get the same response. A resolver may depend on others: its
`Visible…` parameters are resolved first. A feature lists its resolvers in its `feature.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, get_type_hints, runtime_checkable

from stead.control.http.operations import Call
from stead.shared.roles import Role

ResolverFunction = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Resolver:
    find: ResolverFunction
    path_parameters: tuple[str, ...]
    depends_on: tuple[type, ...]
    resolvers: "Resolvers"

    def __call__(self, call: Call, path: Mapping[str, str]) -> Awaitable[Any]:
        if self.depends_on:
            return self._find_with_dependencies(call, path)
        return self.find(call, *[path[name] for name in self.path_parameters])

    async def _find_with_dependencies(self, call: Call, path: Mapping[str, str]) -> Any:
        dependencies = [await self.resolvers[kind](call, path) for kind in self.depends_on]
        return await self.find(call, *dependencies, *[path[name] for name in self.path_parameters])


class Resolvers(Mapping[type, Resolver]):
    """The resolver of every `Visible…` type."""

    def __init__(self, functions: Iterable[ResolverFunction]) -> None:
        self._by_type: dict[type, Resolver] = {}
        for find in functions:
            hints = get_type_hints(find)
            resource = hints.pop("return")
            hints.pop("call")
            depends_on = tuple(hint for hint in hints.values() if hint is not str)
            names = tuple(name for name, hint in hints.items() if hint is str)
            self._by_type[resource] = Resolver(find, names, depends_on, self)

    def __getitem__(self, resource: type) -> Resolver:
        return self._by_type[resource]

    def __iter__(self) -> Iterator[type]:
        return iter(self._by_type)

    def __len__(self) -> int:
        return len(self._by_type)


class Governance(NamedTuple):
    """The caller's role for a resource, and the team and site whose audit log records changes to it."""

    role: Role
    team_id: str | None
    site_id: str | None


class Governed(ABC):
    """A resource of a team or an account. The caller's role limits what the caller may do with it."""

    __slots__ = ()

    @abstractmethod
    def governance(self) -> Governance: ...


class Owned:
    """A resource that counts toward the limits and quotas of its owner: a team or an account."""

    __slots__ = ()

    account_id: str | None
    team_id: str | None

    @property
    def owner(self) -> str:
        owner = self.team_id or self.account_id
        if owner is None:
            raise LookupError(f"{self} has no owner")
        return owner


@runtime_checkable
class Capable(Protocol):
    """A resource whose runtime determines which capabilities it supports."""

    def supports(self, capability: str) -> bool: ...
