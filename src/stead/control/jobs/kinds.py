"""A kind of job, declared once: its type, parameters, lock, time limit and result keys.

    DEPLOY = JobKind(
        "deployment.deploy", params=SiteWork, resource="deployment", lock="environment",
        limit=timedelta(minutes=10), results={"url"},
    )

A feature declares its kinds in `jobs.py`, so that any service can queue one. The steps of a kind are declared
in the feature's `workflows.py` (see `jobs/definition.py`).
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeVar

import msgspec

RESULT_KEYS = frozenset(
    {
        *("artifact_id", "build_id", "snapshot_id", "deployment_id", "scan_id", "release_id", "digest"),
        *("commit", "ref", "branch", "url", "env_id", "key_id"),
        *("download_url", "expires_at", "size_bytes"),
    }
)
"""The only keys that the API shows in a job's result."""

P = TypeVar("P", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Job(Generic[P]):
    """A job as its steps see it."""

    id: str
    site_id: str
    env_id: str | None
    params: P
    dispatched_at: datetime
    was_dispatched: bool = True
    """False for a job that was cancelled while it was still queued."""
    could_hear_nodes: bool = True
    """Whether the worker could have received heartbeats for long enough, so that a silent node is lost."""


class JobKind(Generic[P]):
    def __init__(
        self,
        type_: str,
        *,
        params: type[P],
        resource: str,
        lock: Literal["site", "environment"],
        limit: timedelta,
        results: Collection[str] = (),
        variant: str = "",
        parallel: int = 1,
    ) -> None:
        if not set(results) <= RESULT_KEYS:
            raise TypeError(f"{type_}: {sorted(set(results) - RESULT_KEYS)} may not be in a result")
        self.type, self.params, self.resource, self.lock = type_, params, resource, lock
        self.limit, self.results = limit, frozenset(results)
        self.parallel = parallel
        """How many jobs of an environment may run at the same time, if all of them may. Other kinds of job
        wait for them, and they wait for other kinds."""
        self.name = f"{type_}/{variant}" if variant else type_
        """Unique. Two kinds may share a type, which is what the API shows."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A row of the `jobs` table, as the worker reads it."""

    id: str
    type: str
    status: str
    site_id: str
    env_id: str | None
    params: dict[str, Any]
    created_at: datetime
    dispatched_at: datetime | None

    @property
    def kind_name(self) -> str:
        return str(self.params["kind"])

    def read(self, kind: JobKind[P]) -> Job[P]:
        params = msgspec.convert(self.params["with"], kind.params)
        dispatched_at = self.dispatched_at or self.created_at
        return Job(
            self.id,
            self.site_id,
            self.env_id,
            params,
            dispatched_at,
            was_dispatched=self.dispatched_at is not None,
        )
