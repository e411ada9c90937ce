// Generated from the API description by `make generate`.
import { follow } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { JobEvent } from "../jobs.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Jobs extends Resource {
  /**
   * List jobs, newest first.
   *
   * Jobs are kept for 90 days. Read a single job for the URL of a file that it has made.
   *
   * Scopes: `jobs:read`.
   */
  list(query: { status?: types.JobStatus | null | undefined; resource_type?: string | null | undefined; site_id?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Job> {
    const path = "/v1/jobs";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Read a job.
   *
   * If the job has made a file, the result has its `download_url` until it expires. This also requires the
   * scope of the operation that started the job.
   *
   * The response has an `ETag`. If you send it in `If-None-Match`, the response is 304 until the job changes.
   *
   * Scopes: `jobs:read`.
   */
  async get(jobId: string, options: RequestOptions = {}): Promise<types.Job> {
    const { body: found } = await this.transport.request("GET", `/v1/jobs/${inPath(jobId)}`, { options });
    return dataOf<types.Job>(found);
  }

  /**
   * Stream a job as server-sent events: output lines, status changes, and `event: done` at the end.
   *
   * Every event has an ID. A client that reconnects with `Last-Event-ID`, to any API process, misses no events
   * and gets none twice.
   *
   * Scopes: `jobs:read`.
   */
  stream(jobId: string, options: RequestOptions = {}): AsyncGenerator<JobEvent, void, undefined> {
    return follow(this.transport, jobId, "", options);
  }

  /**
   * Cancel a job. Its completed steps are undone, and it ends as `failed` with the code `job.cancelled`.
   *
   * This also requires the scope of the operation that started the job.
   *
   * Scopes: `jobs:read`.
   */
  async cancel(jobId: string, options: RequestOptions = {}): Promise<types.Job> {
    const { body: found } = await this.transport.request("POST", `/v1/jobs/${inPath(jobId)}/cancel`, { idempotent: "key", options });
    return dataOf<types.Job>(found);
  }
}
