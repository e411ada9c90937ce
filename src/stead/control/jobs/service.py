"""Queues jobs, and the use cases of callers."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.http.context import ApiContext
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.http.responses import ErrorBody, error_body
from stead.control.jobs import queue, store
from stead.control.jobs.definition import Workflow
from stead.control.jobs.kinds import JobKind, JobRow, P
from stead.control.jobs.rules import (
    FINAL,
    MAX_QUEUED,
    JobAlreadyFinal,
    JobCancelled,
    JobNotFound,
    JobsWaiting,
    VisibleJob,
)
from stead.control.jobs.schema import JobFilter, JobView
from stead.shared.errors import RoleInsufficient, ScopeInsufficient
from stead.shared.ids import JobId, has_shape, new_id
from stead.shared.roles import MASK


@dataclass(frozen=True, slots=True)
class Subject:
    """The resource of a job, and the owner whose limit of concurrent jobs it counts toward."""

    site_id: str
    owner: str
    env_id: str | None = None
    id: str | None = None
    extra: dict[str, str] = field(default_factory=dict)


async def visible_job(call: Call, job_id: str) -> VisibleJob:
    job = await store.find(call.tx, call.caller, job_id) if has_shape("job", job_id) else None
    if job is None:
        raise JobNotFound
    return job


async def require_room(tx: Tx, owner: str) -> None:
    waiting = await store.waiting(tx, owner)
    if waiting >= MAX_QUEUED:
        raise JobsWaiting(waiting=waiting)


async def enqueue(tx: Tx, kind: JobKind[P], params: P, subject: Subject, *, scope: str) -> JobView:
    """Queue a job in the caller's transaction. `scope` is the scope that is required to cancel it."""
    await require_room(tx, subject.owner)
    env_id = subject.env_id if kind.lock == "environment" else None
    resource: dict[str, Any] = {
        "type": kind.resource,
        "id": subject.id or env_id or subject.site_id,
        "site_id": subject.site_id,
        **({"env_id": env_id} if env_id else {}),
        **subject.extra,
    }
    queued = await store.insert(
        tx,
        JobId(new_id("job")),
        type_=kind.type,
        site_id=subject.site_id,
        env_id=env_id,
        owner=subject.owner,
        scope=scope,
        resource=resource,
        params={"kind": kind.name, "with": msgspec.to_builtins(params)},
    )
    await queue.publish_queued(tx, queued.id, kind.type, subject.site_id, env_id)
    return queued


async def browse(tx: Tx, caller: Principal, query: JobFilter, page: PageRequest) -> Page[JobView]:
    return await store.page(tx, caller, query, page)


async def cancel(tx: Tx, caller: Principal, job: VisibleJob, context: ApiContext) -> JobView:
    """Cancelling a job requires the same scope as starting it."""
    if job.scope not in caller.allowed:
        raise ScopeInsufficient(scope=job.scope)
    if job.scope not in MASK[job.role]:
        raise RoleInsufficient(role=job.role)
    row = await queue.lock(tx, job.id)
    if row is None or row.status in FINAL:
        raise JobAlreadyFinal(status=row.status if row else job.status)
    if row.dispatched_at is None:
        await end(tx, context.workflows.of(row), row, error_body(JobCancelled(), context.docs_url))
    else:
        await queue.request_cancellation(tx, row.id)
    cancelled = await store.view(tx, job.id)
    if cancelled is None:
        raise JobNotFound
    return cancelled


async def end(tx: Tx, workflow: Workflow[Any], row: JobRow, error: ErrorBody | None) -> bool:
    """End a job: set its status, publish its event and call the failure handler of its kind.

    False if the job has already ended.
    """
    if not await queue.finish(tx, row, msgspec.to_builtins(error) if error else None):
        return False
    if error is not None:
        await workflow.failed(tx, workflow.read(row), error.message)
    return True


async def is_busy(tx: Tx, site: str) -> bool:
    return await store.is_busy(tx, site)


async def get_view(tx: Tx, job: str) -> JobView | None:
    """The current state of a job, without a check of visibility."""
    return await store.view(tx, job)
