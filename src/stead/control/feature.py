"""What a feature declares about itself. `features.py` lists all features; everything else reads that list."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stead.control.engines.postgres import Database, Tx
from stead.control.http.authentication import Authenticator
from stead.control.http.operations import Operations
from stead.control.http.principal_cache import PrincipalCacheInvalidator
from stead.control.http.rate_limits import Limiter
from stead.control.http.visibility import ResolverFunction
from stead.control.http.web import Route
from stead.control.jobs.definition import Workflow
from stead.control.outbox.event_types import EventType
from stead.control.outbox.transports import Transport
from stead.control.sealed_columns import SealedColumn
from stead.control.sealing import Sealer
from stead.control.settings import Settings
from stead.control.tasks import Task, WorkerServices


@dataclass(frozen=True)
class ApiServices:
    """What the pages of a feature may use."""

    settings: Settings
    database: Database
    limiter: Limiter
    authenticator: Authenticator
    sealer: Sealer
    invalidator: PrincipalCacheInvalidator


@dataclass(frozen=True, kw_only=True)
class Feature:
    name: str
    operations: Sequence[Operations] = ()
    resolvers: Sequence[ResolverFunction] = ()
    """How a path parameter becomes a `Visible…` resource."""
    id_prefixes: Mapping[str, str] = field(default_factory=dict)
    """The prefix of the identifier in a path parameter, by the name of the parameter. Empty if it is a number
    of the site itself."""
    workflows: Sequence[Workflow[Any]] = ()
    events: Sequence[EventType] = ()
    """The event types that the feature declares in its `events.py`."""
    tasks: Callable[[WorkerServices], Sequence[Task]] | None = None
    """Periodic and long-running tasks of the worker."""
    measure: Callable[[Tx], Awaitable[None]] | None = None
    """Sets the metrics of the worker that are read from the database."""
    transports: Sequence[Transport] = ()
    """Functions that receive every published event, in the transaction that orders it."""
    sealed_columns: Sequence[SealedColumn] = ()
    """Columns with secrets that are encrypted with the sealing key."""
    pages: Callable[[ApiServices], Sequence[Route]] | None = None
    """Routes outside `/v1`."""
