// Generated from the API description by `make generate`.
import { fieldOf, JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Builds extends Resource {
  /**
   * Build an artifact from the repository of the site, from an upload, or from an archive at another URL.
   *
   * The output of the job contains every line of the build. The result of a successful job contains the
   * `artifact_id`.
   *
   * Scopes: `deployments:write`.
   */
  async create(siteId: string, envId: string, body: types.NewBuild, options: RequestOptions = {}): Promise<JobHandle<types.Build>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/builds`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), (job, given) =>
      this.client.builds.get(fieldOf(job, "site_id"), fieldOf(job, "env_id"), fieldOf(job, "build_id"), given),
    );
  }

  /**
   * List the builds of an environment, newest first.
   *
   * Scopes: `deployments:read`.
   */
  list(siteId: string, envId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Build> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/builds`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Read a build.
   *
   * Scopes: `deployments:read`.
   */
  async get(siteId: string, envId: string, buildId: string, options: RequestOptions = {}): Promise<types.Build> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/builds/${inPath(buildId)}`, { options });
    return dataOf<types.Build>(found);
  }
}
