"""HTTP operations on jobs."""

from stead.control.http.operations import Call, Frame, Operations, Stream, Tagged
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs import service
from stead.control.jobs.downloads import add_download
from stead.control.jobs.rules import JobAlreadyFinal, JobNotFound, VisibleJob
from stead.control.jobs.schema import JobEnd, JobFilter, JobView
from stead.control.jobs.stream import follow
from stead.shared.versions import BY_NAME, LATEST

operation = Operations(tag="Jobs")


@operation("GET /v1/jobs", id="jobs.list", scope="jobs:read")
async def list_jobs(call: Call, query: JobFilter, page: PageRequest) -> Page[JobView]:
    """List jobs, newest first.

    Jobs are kept for 90 days. Read a single job for the URL of a file that it has made.
    """
    return await service.browse(call.tx, call.caller, query, page)


@operation("GET /v1/jobs/{job_id}", id="jobs.get", scope="jobs:read", errors=[JobNotFound])
async def get_job(call: Call, job: VisibleJob) -> Tagged[JobView]:
    """Read a job.

    If the job has made a file, the result has its `download_url` until it expires. This also requires the
    scope of the operation that started the job.

    The response has an `ETag`. If you send it in `If-None-Match`, the response is 304 until the job changes.
    """
    view = JobView.read(job.id, job.type, job.status, job.created_at, job.resource, job.result, job.error)
    shown = add_download(view, job, call.caller, call.context.objects, call.tx.now)
    return Tagged(shown, f"{job.id}-{job.revision}")


_FRAMES = {
    "message": Frame(str, "One line of output."),
    "job": Frame(JobView, "The job, after each change of its status."),
    "done": Frame(JobEnd, "The job has ended.", ends=True),
}


@operation(
    "GET /v1/jobs/{job_id}/stream", id="jobs.stream", scope="jobs:read", frames=_FRAMES, errors=[JobNotFound]
)
async def stream_job(call: Call, job: VisibleJob) -> Stream:
    """Stream a job as server-sent events: output lines, status changes, and `event: done` at the end.

    Every event has an ID. A client that reconnects with `Last-Event-ID`, to any API process, misses no events
    and gets none twice.
    """
    version = BY_NAME.get(call.request.header(b"api-version"), LATEST)
    return follow(call.context, job.id, call.request.header(b"last-event-id"), version)


@operation(
    "POST /v1/jobs/{job_id}/cancel",
    id="jobs.cancel",
    scope="jobs:read",
    status=202,
    errors=[JobNotFound, JobAlreadyFinal],
)
async def cancel_job(call: Call, job: VisibleJob) -> JobView:
    """Cancel a job. Its completed steps are undone, and it ends as `failed` with the code `job.cancelled`.

    This also requires the scope of the operation that started the job.
    """
    return await service.cancel(call.tx, call.caller, job, call.context)
