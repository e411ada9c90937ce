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
    MAX_PLATFORM_QUEUED,
    MAX_QUEUED,
    RETENTION,
    JobAlreadyFinal,
    JobCancelled,
    JobNotFound,
    JobsWaiting,
    VisibleJob,
)
from stead.control.jobs.schema import JobFilter, JobView
from stead.control.plans import service as plans
from stead.shared.errors import RoleInsufficient, ScopeInsufficient
from stead.shared.ids import JobId, has_shape, lower_bound, new_id
from stead.shared.roles import MASK

BATCH_SIZE = 500
"""How many jobs one transaction removes."""


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


async def require_room(tx: Tx, owner: str) -> str:
    """Raise if too many jobs are queued. Returns the owner whose limits apply."""
    owner = await plans.resolve_quota_owner(tx, owner)
    await store.lock_queue(tx, owner)
    waiting = await store.waiting(tx, owner)
    if waiting >= MAX_QUEUED:
        raise JobsWaiting(waiting=waiting)
    return owner


async def enqueue(
    tx: Tx, kind: JobKind[P], params: P, subject: Subject, *, scope: str, by_platform: bool = False
) -> JobView:
    """Queue a job in the caller's transaction. `scope` is the scope that is required to cancel it.

    A job `by_platform` is never refused, however many jobs its owner has queued: nobody may prevent that
    their unused environments are suspended. `list_busy_owners` limits how many there are.
    """
    owner = subject.owner if by_platform else await require_room(tx, subject.owner)
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
        owner=owner,
        scope=scope,
        resource=resource,
        params={"kind": kind.name, "with": msgspec.to_builtins(params)},
        by_platform=by_platform,
        parallel=kind.parallel,
    )
    await queue.publish_queued(tx, queued.id, kind.type, subject.site_id, env_id)
    return queued


async def list_busy_owners(tx: Tx) -> list[str]:
    """Owners for whom the platform has queued so many jobs that it must not queue more now."""
    return await store.owners_with_platform_jobs(tx, MAX_PLATFORM_QUEUED)


async def remove_old(tx: Tx) -> int:
    """Remove a batch of jobs that ended long ago. Returns how many."""
    return await queue.remove_ended(tx, lower_bound("job", tx.now - RETENTION), BATCH_SIZE)


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


async def cancel_unfinished(tx: Tx, kind: JobKind[Any], subject: Subject, docs_url: str) -> None:
    """Cancel the jobs of a kind that have not ended, of an environment, or else of the whole site. Otherwise
    a job that is queued next would wait for them. None can be queued before this transaction ends.

    Only for a kind whose failure handler records nothing: it is not called.
    """
    await store.lock_queue(tx, await plans.resolve_quota_owner(tx, subject.owner))
    error = msgspec.to_builtins(error_body(JobCancelled(), docs_url))
    for row in await queue.lock_unfinished(tx, kind.name, subject.site_id, subject.env_id):
        if row.dispatched_at is None:
            await queue.finish(tx, row, error)
        else:
            await queue.request_cancellation(tx, row.id)


async def cancel_waiting_for_node(tx: Tx, site: str, node: str) -> None:
    """Cancel the jobs of a site that have asked a node that is lost for good. Otherwise they would wait for
    it until their time limit, and later jobs of the site for them."""
    for job in await store.list_running_on(tx, site, node):
        await queue.request_cancellation(tx, job)


async def cancel_page_waiting_for_node(tx: Tx, node: str, *, after: str, limit: int) -> list[str]:
    """Cancel one page of the jobs that wait for a lost node, such as builds of sites that other nodes host.
    Returns the page."""
    page = await store.list_waiting_for(tx, node, after=after, limit=limit)
    for job in page:
        await queue.request_cancellation(tx, job)
    return page


async def is_busy(tx: Tx, site: str) -> bool:
    return await store.is_busy(tx, site)


async def list_asked_nodes(tx: Tx, job: str) -> list[str] | None:
    """The nodes that were asked to work for a job; None for a job of an earlier version, which did not
    record them."""
    return await store.list_asked_nodes(tx, job)


async def get_view(tx: Tx, job: str) -> JobView | None:
    """The current state of a job, without a check of visibility."""
    return await store.view(tx, job)
