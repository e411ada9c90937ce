"""Handles of jobs, and streams of their events that survive broken connections."""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from stead_sdk import types
from stead_sdk._events import EventParser, ServerSentEvent
from stead_sdk._io_async import sleep
from stead_sdk.errors import APIConnectionError, APIError, JobFailed, JobTimeout

if TYPE_CHECKING:
    from stead_sdk._async.client import AsyncStead

T = TypeVar("T")

FINAL = ("succeeded", "failed")
_MOST_FAILURES = 8
_LONGEST_WAIT = 5.0


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
        """Wait until the job has ended. A job that fails raises `JobFailed`; one that has not ended after
        `timeout` seconds raises `JobTimeout`, and goes on."""
        ends = None if timeout is None else time.monotonic() + timeout
        pause = 0.2
        while (await self.refresh()).status not in FINAL:
            if ends is not None and time.monotonic() >= ends:
                raise JobTimeout(self.job)
            await sleep(pause if ends is None else max(0.01, min(pause, ends - time.monotonic())))
            pause = min(_LONGEST_WAIT, pause * 1.5)
        if self.job.status == "failed":
            raise JobFailed(self.job)
        return self.job

    async def result(self, timeout: float | None = None) -> T:
        """Wait, and return what the job has created; or its result, if it creates nothing."""
        return await self._read(await self.wait(timeout))


class Reconnects:
    """When a stream that has ended is opened again, and when that is given up."""

    def __init__(self) -> None:
        self._failures, self._began = 0, time.monotonic()

    def worked(self) -> None:
        self._failures = 0

    async def wait(self, error: Exception | None) -> None:
        """Wait before the next connection, or raise what ended the last one."""
        if isinstance(error, APIError) and error.status < 500 and error.status != 429:
            raise error
        if time.monotonic() - self._began > _LONGEST_WAIT:
            # It worked for a while: a quiet stream behind a proxy that ends long connections.
            self._failures = 0
        self._failures += 1
        if self._failures >= _MOST_FAILURES:
            raise error or APIConnectionError("The stream ended repeatedly without an event.")
        await sleep(min(_LONGEST_WAIT, 0.1 * 2**self._failures))
        self._began = time.monotonic()


async def follow(client: "AsyncStead", job_id: str, after: str = "") -> AsyncIterator[JobEvent]:
    parser, reconnects = EventParser(last_id=after), Reconnects()
    while True:
        failure: Exception | None = None
        try:
            async for event in client.stream_events(f"/v1/jobs/{job_id}/stream", parser):
                reconnects.worked()
                yield _job_event(event)
                if event.event == "done":
                    return
        except (APIConnectionError, APIError) as error:
            failure = error
        await reconnects.wait(failure)


def _job_event(event: ServerSentEvent) -> JobEvent:
    if event.event == "job":
        return JobEvent("job", event.id, job=types.Job(json.loads(event.data)))
    if event.event == "done":
        return JobEvent("done", event.id)
    return JobEvent("output", event.id, line=event.data)


def field_of(job: types.Job, name: str) -> str:
    """An identifier that the job names, in its result or its resource."""
    found: dict[str, Any] = {**(job.resource or {}), **(job.result or {})}
    return str(found[name])
