"""Metrics about jobs: how many wait and run, how long steps take, and how steps and jobs end."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from stead.control import metrics
from stead.control.engines.postgres import Tx
from stead.control.engines.temporal_activities import refusal_code
from stead.control.jobs import queue
from stead.control.jobs.definition import WorkflowCatalog
from stead.control.jobs.rules import EdgeUnreachable, JobLost, JobTimeout
from stead.shared.errors import Internal, catalog
from stead.shared.metrics import set_all

DONE, CANCELLED, RETRIED = "done", "cancelled", "retried"
PLATFORM_CODES = (Internal.code, JobLost.code, JobTimeout.code, EdgeUnreachable.code)
"""Failures that customers cannot influence."""
OTHER = "other"
"""For the kinds of a newer worker."""


def declare_kinds(workflows: WorkflowCatalog) -> None:
    """Export the time limits, and zeros for jobs that have not ended yet: the first failure must be an
    increase for Prometheus."""
    for workflow in workflows.values():
        metrics.jobs_time_limit.labels(workflow.name).set(workflow.kind.limit.total_seconds())
        for code in (DONE, *PLATFORM_CODES):
            metrics.jobs_ended.labels(workflow.name, code)


async def measure(tx: Tx, kinds: Iterable[str]) -> None:
    """Set the gauges of the queue. A kind without a job is 0."""
    found = dict.fromkeys(kinds, queue.NO_BACKLOG)
    for kind, backlog in await queue.measure_backlog(tx):
        known = kind if kind in found else OTHER
        found[known] = found.get(known, queue.NO_BACKLOG).merge(backlog)
    set_all(metrics.jobs_waiting, {kind: each.waiting for kind, each in found.items()})
    set_all(metrics.jobs_oldest_waiting, {kind: each.oldest_waiting for kind, each in found.items()})
    set_all(metrics.jobs_running, {kind: each.running for kind, each in found.items()})
    set_all(metrics.jobs_oldest_running, {kind: each.oldest_running for kind, each in found.items()})


@contextmanager
def measure_step(kind: str, step: str) -> Iterator[None]:
    """Measure one attempt at a step."""
    began, code = time.monotonic(), DONE
    running = metrics.steps_running.labels(kind)
    running.inc()
    try:
        yield
    except asyncio.CancelledError:
        code = CANCELLED
        raise
    except Exception as error:
        refused = refusal_code(error)
        code = RETRIED if refused is None else known_code(refused)
        raise
    finally:
        running.dec()
        metrics.step_seconds.labels(kind, step).observe(time.monotonic() - began)
        metrics.step_attempts.labels(kind, step, code).inc()


def count_end(kind: str, code: str = DONE) -> None:
    metrics.jobs_ended.labels(kind, code).inc()


def known_code(code: str) -> str:
    """The code if this version documents it. A node could send any text."""
    return code if any(error.code == code for error in catalog()) else Internal.code
