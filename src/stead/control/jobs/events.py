"""Event types of jobs."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import EventType, Payload

_JobType = Annotated[str, Meta(description="The type of the job.", examples=["deployment.deploy"])]


class JobPayload(Payload):
    type: _JobType


class JobFinished(Payload):
    type: _JobType
    code: Annotated[
        str | None, Meta(description="The error code of a failed job.", examples=["deploy.unhealthy"])
    ] = None


JOB_QUEUED = EventType("job.queued", "job", "A job was queued", data=JobPayload)
JOB_STARTED = EventType("job.started", "job", "A job started", data=JobPayload)
JOB_SUCCEEDED = EventType("job.succeeded", "job", "A job succeeded", data=JobFinished)
JOB_FAILED = EventType("job.failed", "job", "A job failed", "error", data=JobFinished)
