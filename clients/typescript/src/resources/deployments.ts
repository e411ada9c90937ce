// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Deployments extends Resource {
  /**
   * Deploy an artifact to an environment.
   *
   * The node fetches, verifies and probes the release before any visitor sees it; then all visitors get it at
   * once. If the probe fails, the job fails and the previous release is still served.
   *
   * Scopes: `deployments:write`.
   */
  async create(siteId: string, envId: string, body: types.NewDeployment, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/deployments`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * List the deployments of an environment, newest first.
   *
   * Scopes: `deployments:read`.
   */
  list(siteId: string, envId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Deployment> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/deployments`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Roll back to the release of an earlier deployment. Nothing is built.
   *
   * Scopes: `deployments:write`.
   */
  async rollback(siteId: string, envId: string, deploymentId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/deployments/${inPath(deploymentId)}/rollback`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Deploy the live release of this environment to another environment of the site. Nothing is built.
   *
   * Scopes: `deployments:write`.
   */
  async promote(siteId: string, envId: string, body: types.Promotion, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/promote`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}
