# Generated from the API description by `make generate`.
"""Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.jobs import JobEvent, follow
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class AsyncJobs(AsyncResource):
    def list(
        self,
        *,
        status: types.JobStatus | Omit | None = OMIT,
        resource_type: str | Omit | None = OMIT,
        site_id: str | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncPager[types.Job]:
        """List jobs, newest first.

        Jobs are kept for 90 days. Read a single job for the URL of a file that it has made.

        Scopes: `jobs:read`.
        """
        path = "/v1/jobs"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"status": status, "resource_type": resource_type, "site_id": site_id, "limit": limit},
            types.Job,
        )

    async def get(self, job_id: str) -> types.Job:
        """Read a job.

        If the job has made a file, the result has its `download_url` until it expires. This also requires
        the scope of the operation that started the job.

        The response has an `ETag`. If you send it in `If-None-Match`, the response is 304 until the job
        changes.

        Scopes: `jobs:read`.
        """
        return returned(types.Job, await self._client._call("GET", f"/v1/jobs/{in_path(job_id)}"))

    def stream(self, job_id: str) -> AsyncIterator[JobEvent]:
        """Stream a job as server-sent events: output lines, status changes, and `event: done` at the end.

        Every event has an ID. A client that reconnects with `Last-Event-ID`, to any API process, misses no
        events and gets none twice.

        Scopes: `jobs:read`.
        """
        return follow(self._client, job_id)

    async def cancel(self, job_id: str) -> types.Job:
        """Cancel a job. Its completed steps are undone, and it ends as `failed` with the code `job.cancelled`.

        This also requires the scope of the operation that started the job.

        Scopes: `jobs:read`.
        """
        return returned(
            types.Job,
            await self._client._call("POST", f"/v1/jobs/{in_path(job_id)}/cancel", idempotent="key"),
        )
