"""The only place that asks ClickHouse about sites.

A query is made for a `Scope`, and a scope is made from a `Visible…` type, so no query can be asked about a
site that the caller may not see. It also has a window of time and limits. Values are always parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from stead.control.engines.clickhouse import (
    MAX_RESULT_BYTES,
    QUERY_SECONDS,
    ClickHouseUnavailable,
    QueryTooExpensive,
    Reader,
    Statement,
)
from stead.control.environments.rules import Environment, VisibleEnvironment
from stead.control.insights.rules import InsightsUnavailable, ReadableSites, WindowTooExpensive
from stead.control.sites.rules import VisibleSite

__all__ = [
    "Condition",
    "Query",
    "Reader",
    "Scope",
    "Window",
    "newest_first",
    "scope_of_environment",
    "scope_of_site",
    "scope_of_sites",
    "text",
]

T = TypeVar("T")

Table = Literal[
    "requests",
    "request_minutes",
    "request_hours",
    "logs",
    "log_minutes",
    "resource_minutes",
    "vital_hours",
    "page_hours",
    "spans",
]

LIMITS: Mapping[str, str | int] = {
    "max_execution_time": QUERY_SECONDS,
    "max_memory_usage": 1 << 30,
    "max_rows_to_read": 500_000_000,
    "max_threads": 4,
    # A query that would read the rows of everybody fails.
    "force_primary_key": 1,
    # Otherwise the server may begin to answer, and fail then.
    "http_wait_end_of_query": 1,
    "output_format_json_quote_64bit_integers": 0,
}


@dataclass(frozen=True, slots=True)
class Window:
    """From `first`, up to but without `last`."""

    first: datetime
    last: datetime

    @classmethod
    def of_hours(cls, now: datetime, hours: int) -> "Window":
        return cls(now - timedelta(hours=hours), now)


@dataclass(frozen=True, slots=True)
class Condition:
    """`text` contains parameters as `{name:Type}`, never values."""

    text: str
    parameters: Mapping[str, str] = field(default_factory=dict)


class Scope:
    """The environments that a query is about. Made by the functions below, and by nothing else."""

    __slots__ = ("environments", "sites")

    def __init__(self, key: object, sites: Sequence[str], environments: Sequence[str]) -> None:
        if key is not _KEY:
            raise TypeError("a scope is made from what the caller can see")
        self.sites, self.environments = tuple(sites), tuple(environments)


_KEY = object()


def scope_of_environment(environment: VisibleEnvironment) -> Scope:
    return Scope(_KEY, [environment.site_id], [environment.id])


def scope_of_site(site: VisibleSite, production: Environment) -> Scope:
    """A site is its production environment. The others have views of their own."""
    if production.site_id != site.id:
        raise LookupError(f"{production.id} is not of {site.id}")
    return Scope(_KEY, [site.id], [production.id])


def scope_of_sites(sites: ReadableSites) -> Scope:
    found = sites.environments
    return Scope(_KEY, sorted({site for site, _ in found}), [environment for _, environment in found])


def newest_first(scope: Scope, *more: str) -> str:
    """Rows of one site are stored in this order, so only the newest are read. The server does not see that
    there is only one site."""
    return ", ".join(["site_id desc", "ts desc", *more] if len(scope.sites) == 1 else ["ts desc", *more])


@dataclass(frozen=True, slots=True)
class Query:
    """`columns`, `group_by` and `order_by` are constants of this program."""

    table: Table
    columns: str
    conditions: Sequence[Condition] = ()
    group_by: str = ""
    order_by: str = ""
    limit: int = 10_000

    def bind(self, scope: Scope, window: Window) -> Statement:
        bound = Condition(
            "site_id in {sites:Array(String)} and env_id in {environments:Array(String)}"
            " and ts >= {first:DateTime64(3, 'UTC')} and ts < {last:DateTime64(3, 'UTC')}"
            # What is due may be there for some days, because whole files are removed.
            " and ts > now() - toIntervalDay(keep_days)",
            {
                "sites": array(scope.sites),
                "environments": array(scope.environments),
                "first": _moment(window.first),
                "last": _moment(window.last),
            },
        )
        conditions = [bound, *self.conditions]
        parts = [
            f"select {self.columns} from {self.table}",  # noqa: S608 - both are constants of this program
            "where " + " and ".join(f"({condition.text})" for condition in conditions),
            f"group by {self.group_by}" if self.group_by else "",
            f"order by {self.order_by}" if self.order_by else "",
            f"limit {self.limit:d}",
        ]
        parameters = {name: value for each in conditions for name, value in each.parameters.items()}
        return Statement(" ".join(part for part in parts if part), parameters, LIMITS)

    def as_condition(self, column: str, scope: Scope, window: Window) -> Condition:
        """That a value is among those that this query finds. Both queries must be for the same scope and
        window."""
        bound = self.bind(scope, window)
        return Condition(f"{column} in ({bound.text})", bound.parameters)

    async def run(self, clickhouse: Reader, row: type[T], scope: Scope, window: Window) -> list[T]:
        rows, has_more = await self.run_up_to(clickhouse, row, scope, window, MAX_RESULT_BYTES)
        if has_more:
            raise WindowTooExpensive
        return rows

    async def run_up_to(
        self, clickhouse: Reader, row: type[T], scope: Scope, window: Window, max_bytes: int
    ) -> tuple[list[T], bool]:
        """The first rows, and whether there are more than were read."""
        if not scope.sites:
            return [], False
        try:
            return await clickhouse.read_up_to(row, self.bind(scope, window), max_bytes)
        except ClickHouseUnavailable:
            raise InsightsUnavailable from None
        except QueryTooExpensive:
            raise WindowTooExpensive from None


def text(value: str) -> str:
    """A parameter of the type `String`. The server reads its escapes."""
    return "".join(_ESCAPES.get(character, character) for character in value)


def array(values: Sequence[str]) -> str:
    """A parameter of the type `Array(String)`."""
    quoted = (value.replace("\\", "\\\\").replace("'", "\\'") for value in values)
    return "[" + ", ".join(f"'{value}'" for value in quoted) + "]"


_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0", "\b": "\\b", "\f": "\\f"}


def _moment(moment: datetime) -> str:
    return f"{moment.timestamp():.3f}"
