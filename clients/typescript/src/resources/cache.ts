// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Resource, unlessEmpty } from "../resource.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Cache extends Resource {
  /**
   * Purge pages from the cache of an environment: all pages, those of a URL, or those with a tag.
   *
   * When the job has succeeded, no visitor gets an older copy, not even one that was being fetched meanwhile.
   *
   * Scopes: `cache:write`.
   */
  async purge(siteId: string, envId: string, body: types.NewPurge = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/cache/purge`, { body: unlessEmpty(body), idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}
