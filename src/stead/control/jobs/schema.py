"""The JSON shapes of jobs."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from stead.control.jobs.rules import JobStatus

DOWNLOAD = "download_url"
"""In a stored result the name of an object, which nobody sees: `downloads` makes a URL of it."""
PROGRESS = {"queued": 0.0, "running": 0.5, "succeeded": 1.0, "failed": 1.0}


class JobLinks(Struct):
    self: Annotated[str, Meta(examples=["/v1/jobs/job_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    stream: Annotated[str, Meta(examples=["/v1/jobs/job_01k9zy3v7d00r3m8w5x2t6b4qa/stream"])]


class JobView(Struct):
    id: Annotated[str, Meta(examples=["job_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    type: Annotated[str, Meta(examples=["deployment.deploy"])]
    status: JobStatus
    progress: Annotated[
        float, Meta(description="0 when queued, 0.5 when running, 1 when ended.", examples=[0])
    ]
    created_at: datetime
    resource: Annotated[
        dict[str, Any],
        Meta(
            description="The resource of the job: `type`, `id`, `site_id`, and `env_id` if it has one.",
            examples=[
                {
                    "type": "deployment",
                    "id": "site_01k9zy3v7d00r3m8w5x2t6b4qa",
                    "site_id": "site_01k9zy3v7d00r3m8w5x2t6b4qa",
                }
            ],
        ),
    ]
    result: Annotated[
        dict[str, Any] | None, Meta(description="Set when the job has succeeded.", examples=[None])
    ]
    error: Annotated[dict[str, Any] | None, Meta(description="Set when the job has failed.", examples=[None])]
    links: JobLinks

    @classmethod
    def read(
        cls,
        id_: str,
        type_: str,
        status: JobStatus,
        created_at: datetime,
        resource: dict[str, Any],
        result: dict[str, Any] | None,
        error: dict[str, Any] | None,
    ) -> "JobView":
        return cls(
            id=id_,
            type=type_,
            status=status,
            progress=PROGRESS[status],
            created_at=created_at,
            resource=resource,
            result=_without_download(result or {}) if status == "succeeded" else None,
            error=error,
            links=JobLinks(f"/v1/jobs/{id_}", f"/v1/jobs/{id_}/stream"),
        )


def _without_download(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != DOWNLOAD}


class QueuedJob(Struct):
    """The short form of a new job, in responses of functions."""

    job_id: Annotated[str, Meta(examples=["job_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    status: Annotated[Literal["queued"], Meta(examples=["queued"])]

    @classmethod
    def of(cls, job: JobView) -> "QueuedJob":
        return cls(job.id, "queued")

    @property
    def links(self) -> JobLinks:
        return JobLinks(f"/v1/jobs/{self.job_id}", f"/v1/jobs/{self.job_id}/stream")


class JobEnd(Struct):
    """The last event of a stream."""

    status: JobStatus


class JobFilter(Struct):
    status: Annotated[JobStatus | None, Meta(description="Only jobs with this status.")] = None
    resource_type: Annotated[
        str | None,
        Meta(description="Only jobs for this type of resource, for example `deployment` or `site`."),
    ] = None
    site_id: Annotated[str | None, Meta(description="Only jobs of this site.")] = None
