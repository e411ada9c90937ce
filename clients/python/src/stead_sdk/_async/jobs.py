"""Handles of jobs, and streams of their events that survive broken connections."""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from stead_sdk import types
from stead_sdk._async.events import AsyncEvents
from stead_sdk._events import EventParser, ServerSentEvent
from stead_sdk._io_async import sleep
from stead_sdk.errors import APIConnectionError, APIError, JobFailed, JobTimeout

if TYPE_CHECKING:
    from stead_sdk._async.client import AsyncStead

T = TypeVar("T")

FINAL = ("succeeded", "failed")
_MOST_FAILURES = 8
_LONGEST_WAIT = 5.0
_LONGEST_OUTAGE = 300.0
"""How long `wait` goes on asking a server that does not answer."""


class JobEvent(NamedTuple):
    """`output` has a `line`, `job` has the `job`, and `done` is the last."""

    kind: Literal["output", "job", "done"]
    id: str
    line: str | None = None
    job: types.Job | None = None


class AsyncJobHandle(Generic[T]):
    """A job that an operation started. `job` is its last known state."""

    def __init__(
        self,
        client: "AsyncStead",
        job: types.Job,
        read: Callable[[types.Job], Awaitable[T]],
    ) -> None:
        self._client, self._read = client, read
        self.job = job

    @property
    def id(self) -> str:
        return self.job.id

    async def refresh(self) -> types.Job:
        self.job = await self._client.jobs.get(self.id)
        return self.job

    async def cancel(self) -> types.Job:
        """Ask for the job to be cancelled. It then ends as `failed`."""
        self.job = await self._client.jobs.cancel(self.id)
        return self.job

    async def events(self, after: str = "") -> AsyncIterator[JobEvent]:
        """Output and changes, until the job has ended. No event is missed, and none comes twice, also when
        the connection breaks. `after` is the id of the last event that you have."""
        async for event in follow(self._client, self.id, after):
            if event.job is not None:
                self.job = event.job
            yield event

    async def wait(self, timeout: float | None = None) -> types.Job:
        """Wait until the job has ended, also if the server cannot be reached for some minutes. A job that
        fails raises `JobFailed`; one that has not ended after `timeout` seconds raises `JobTimeout`, and goes
        on."""
        ends = None if timeout is None else time.monotonic() + timeout
        pause, answered = 0.2, time.monotonic()
        while True:
            try:
                if await self._has_ended(ends):
                    break
                answered = time.monotonic()
            except (APIConnectionError, APIError) as error:
                if not is_transient(error) or time.monotonic() - answered > _LONGEST_OUTAGE:
                    raise
            now = time.monotonic()
            if ends is not None and now >= ends:
                raise JobTimeout(self.job)
            await sleep(pause if ends is None else max(0.01, min(pause, ends - now)))
            pause = min(_LONGEST_WAIT, pause * 1.5)
        if self.job.status == "failed" or self.job.error:
            raise JobFailed(self.job)
        return self.job

    async def _has_ended(self, ends: float | None) -> bool:
        """Ask once, and not longer than the caller waits. A status that this version does not know is final
        if the progress says so."""
        client = self._client.with_options(max_retries=0)
        if ends is not None:
            client._limit_to(max(1.0, ends - time.monotonic()))
        self.job = await client.jobs.get(self.id)
        return self.job.status in FINAL or (self.job.progress or 0) >= 1

    async def result(self, timeout: float | None = None) -> T:
        """Wait, and return what the job has created; or its result, if it creates nothing."""
        return await self._read(await self.wait(timeout))


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    return not isinstance(error, APIError) or error.status >= 500 or error.status == 429


class Reconnects:
    """When a stream that has ended is opened again, and when that is given up."""

    def __init__(self) -> None:
        self._failures = 0

    def worked(self) -> None:
        self._failures = 0

    async def wait(self, error: Exception | None, events: AsyncEvents | None) -> None:
        """Wait before the next connection, or raise what ended the last one. `events` is None if it was not
        opened."""
        if error is not None and not is_transient(error):
            raise error
        if events is not None and events.seconds_open(error) > _LONGEST_WAIT:
            # It worked for a while: a quiet stream behind a proxy that ends long connections.
            self._failures = 0
        self._failures += 1
        if self._failures >= _MOST_FAILURES:
            raise error or APIConnectionError("The stream ended repeatedly without an event.")
        await sleep(min(_LONGEST_WAIT, 0.1 * 2**self._failures))


async def follow(client: "AsyncStead", job_id: str, after: str = "") -> AsyncIterator[JobEvent]:
    parser, reconnects = EventParser(last_id=after), Reconnects()
    while True:
        failure: Exception | None = None
        events: AsyncEvents | None = None
        try:
            events = await client.open_events(f"/v1/jobs/{job_id}/stream", parser)
            async for event in events:
                reconnects.worked()
                known = _job_event(event)
                if known is not None:
                    yield known
                if event.event == "done":
                    return
        except (APIConnectionError, APIError) as error:
            failure = error
        finally:
            if events is not None:
                events.close()
        await reconnects.wait(failure, events)


def _job_event(event: ServerSentEvent) -> JobEvent | None:
    """None for a kind that this version does not know."""
    if event.event == "job":
        return JobEvent("job", event.id, job=types.Job(json.loads(event.data)))
    if event.event == "done":
        return JobEvent("done", event.id)
    return JobEvent("output", event.id, line=event.data) if event.event == "message" else None


def field_of(job: types.Job, name: str) -> str:
    """An identifier that the job names, in its result or its resource."""
    found: dict[str, Any] = {**(job.resource or {}), **(job.result or {})}
    return str(found[name])
