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
    needs: tuple[type, ...]
    others: "Resolvers"

    def __call__(self, call: Call, path: Mapping[str, str]) -> Awaitable[Any]:
        if self.needs:
            return self._find_upon(call, path)
        return self.find(call, *[path[name] for name in self.path_parameters])

    async def _find_upon(self, call: Call, path: Mapping[str, str]) -> Any:
        found = [await self.others[need](call, path) for need in self.needs]
        return await self.find(call, *found, *[path[name] for name in self.path_parameters])


class Resolvers(Mapping[type, Resolver]):
    """The resolver of every `Visible…` type."""

    def __init__(self, functions: Iterable[ResolverFunction]) -> None:
        self._by_type: dict[type, Resolver] = {}
        for find in functions:
            hints = get_type_hints(find)
            resource = hints.pop("return")
            hints.pop("call")
            needs = tuple(hint for hint in hints.values() if hint is not str)
            names = tuple(name for name, hint in hints.items() if hint is str)
            self._by_type[resource] = Resolver(find, names, needs, self)

    def __getitem__(self, resource: type) -> Resolver:
        return self._by_type[resource]

    def __iter__(self) -> Iterator[type]:
        return iter(self._by_type)

    def __len__(self) -> int:
        return len(self._by_type)


class Governance(NamedTuple):
    """The caller's role in what owns a resource, and in whose audit trail a change to it belongs."""

    role: Role
    team_id: str | None
    site_id: str | None


class Governed(ABC):
    """A resource under a team, or a person's own: the caller's role in it masks what the caller may do."""

    __slots__ = ()

    @abstractmethod
    def governance(self) -> Governance: ...


class Owned:
    """Counts into the caps and quotas of its team, or of the person whose own it is."""

    __slots__ = ()

    account_id: str | None
    team_id: str | None

    @property
    def owner(self) -> str:
        owner = self.team_id or self.account_id
        if owner is None:
            raise LookupError(f"{self} belongs to nobody")
        return owner


@runtime_checkable
class Capable(Protocol):
    """A resource whose runtime decides what can be done with it."""

    def supports(self, capability: str) -> bool: ...
