"""The parts of Temporal that the activities of a job use: declaration, attempt number, heartbeats, errors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from stead.control.engines.temporal_workflow import REFUSED

HEARTBEAT_SECONDS = 1.0

declare_activity = activity.defn


def attempt_number() -> int:
    """How often Temporal has tried the current activity, this attempt included."""
    return activity.info().attempt


def is_stopping() -> bool:
    """Whether the workflow has cancelled the current activity. It is also cancelled when its worker stops, or
    when its heartbeats were missed and another attempt has begun: then its work goes on."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested


def final_error(code: str, reason: str) -> ApplicationError:
    """An error after which Temporal does not retry."""
    return ApplicationError(reason, code, reason, type=REFUSED, non_retryable=True)


def refusal_code(error: BaseException) -> str | None:
    """The code of an error made by `final_error`; None for any other error."""
    if isinstance(error, ApplicationError) and error.type == REFUSED:
        return str(error.details[0])
    return None


def retryable_error(reason: str) -> ApplicationError:
    return ApplicationError(reason)


@asynccontextmanager
async def heartbeating() -> AsyncIterator[None]:
    """Send heartbeats for the current activity. When they stop, Temporal gives it to another worker."""
    heartbeats = asyncio.create_task(_send_heartbeats())
    try:
        yield
    finally:
        heartbeats.cancel()


async def _send_heartbeats() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(HEARTBEAT_SECONDS)
