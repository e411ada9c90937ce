// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Cron extends Resource {
  /**
   * List the scheduled events of a site, the next one first.
   *
   * Scopes: `cron:read`.
   */
  list(siteId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Cron> {
    const path = `/v1/sites/${inPath(siteId)}/cron`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Schedule an event. A repeated event runs for the first time when its interval has passed.
   *
   * Scopes: `cron:write`.
   */
  async create(siteId: string, body: types.NewCron, options: RequestOptions = {}): Promise<types.Cron> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/cron`, { body, idempotent: "key", options });
    return dataOf<types.Cron>(found);
  }

  /**
   * List the scheduled events of a site, the next one first.
   *
   * Scopes: `cron:read`.
   */
  listInEnvironment(siteId: string, envId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Cron> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/cron`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Schedule an event. A repeated event runs for the first time when its interval has passed.
   *
   * Scopes: `cron:write`.
   */
  async createInEnvironment(siteId: string, envId: string, body: types.NewCron, options: RequestOptions = {}): Promise<types.Cron> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/cron`, { body, idempotent: "key", options });
    return dataOf<types.Cron>(found);
  }

  /**
   * Read a scheduled event. A repeated event keeps its id from run to run.
   *
   * Scopes: `cron:read`.
   */
  async get(siteId: string, cronId: string, options: RequestOptions = {}): Promise<types.Cron> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/cron/${inPath(cronId)}`, { options });
    return dataOf<types.Cron>(found);
  }

  /**
   * Change when an event runs, or its arguments.
   *
   * The id depends on the hook, the arguments and the recurrence, or the time of an event that runs once. If
   * one of them changes, the response has the new id.
   *
   * Scopes: `cron:write`.
   */
  async update(siteId: string, cronId: string, body: types.CronChange = {}, options: RequestOptions = {}): Promise<types.Cron> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/cron/${inPath(cronId)}`, { body, idempotent: "none", options });
    return dataOf<types.Cron>(found);
  }

  /**
   * Remove a scheduled event.
   *
   * Scopes: `cron:write`.
   */
  async delete(siteId: string, cronId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/cron/${inPath(cronId)}`, { idempotent: "natural", options });
  }

  /**
   * Read a scheduled event. A repeated event keeps its id from run to run.
   *
   * Scopes: `cron:read`.
   */
  async getInEnvironment(siteId: string, envId: string, cronId: string, options: RequestOptions = {}): Promise<types.Cron> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/cron/${inPath(cronId)}`, { options });
    return dataOf<types.Cron>(found);
  }

  /**
   * Change when an event runs, or its arguments.
   *
   * The id depends on the hook, the arguments and the recurrence, or the time of an event that runs once. If
   * one of them changes, the response has the new id.
   *
   * Scopes: `cron:write`.
   */
  async updateInEnvironment(siteId: string, envId: string, cronId: string, body: types.CronChange = {}, options: RequestOptions = {}): Promise<types.Cron> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/cron/${inPath(cronId)}`, { body, idempotent: "none", options });
    return dataOf<types.Cron>(found);
  }

  /**
   * Remove a scheduled event.
   *
   * Scopes: `cron:write`.
   */
  async deleteInEnvironment(siteId: string, envId: string, cronId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/cron/${inPath(cronId)}`, { idempotent: "natural", options });
  }

  /**
   * Run an event now. WP-CLI runs all events of its hook; what they print is the output of the job.
   *
   * Scopes: `cron:write`.
   */
  async run(siteId: string, cronId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/cron/${inPath(cronId)}/run`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Run an event now. WP-CLI runs all events of its hook; what they print is the output of the job.
   *
   * Scopes: `cron:write`.
   */
  async runInEnvironment(siteId: string, envId: string, cronId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/cron/${inPath(cronId)}/run`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}
