// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Resource, unlessEmpty } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Database extends Resource {
  /**
   * Read the version, the size and the tables of the database of a site.
   *
   * Scopes: `db:read`.
   */
  async get(siteId: string, options: RequestOptions = {}): Promise<types.Database> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/database`, { options });
    return dataOf<types.Database>(found);
  }

  /**
   * Read the version, the size and the tables of the database of a site.
   *
   * Scopes: `db:read`.
   */
  async getInEnvironment(siteId: string, envId: string, options: RequestOptions = {}): Promise<types.Database> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/database`, { options });
    return dataOf<types.Database>(found);
  }

  /**
   * Run one statement that reads, with a user that can do nothing else. It may take 10 seconds.
   *
   * The tables contain everything that the site stores, also hashes of passwords and the secrets of plugins.
   *
   * Scopes: `db:read`.
   */
  async query(siteId: string, body: types.NewQuery, options: RequestOptions = {}): Promise<types.QueryResult> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/database/query`, { body, idempotent: "key", options });
    return dataOf<types.QueryResult>(found);
  }

  /**
   * Run one statement that reads, with a user that can do nothing else. It may take 10 seconds.
   *
   * The tables contain everything that the site stores, also hashes of passwords and the secrets of plugins.
   *
   * Scopes: `db:read`.
   */
  async queryInEnvironment(siteId: string, envId: string, body: types.NewQuery, options: RequestOptions = {}): Promise<types.QueryResult> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/database/query`, { body, idempotent: "key", options });
    return dataOf<types.QueryResult>(found);
  }

  /**
   * Run one `INSERT`, `UPDATE`, `DELETE` or `REPLACE`: as a dry run, unless `confirm` is true.
   *
   * A dry run makes the change in a transaction, reports how many rows it affects, and takes it back. To apply
   * it to production, the site needs a snapshot of the last hour.
   *
   * Scopes: `db:write`.
   */
  async execute(siteId: string, body: types.NewStatement, options: RequestOptions = {}): Promise<types.StatementResult> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/database/execute`, { body, idempotent: "key", options });
    return dataOf<types.StatementResult>(found);
  }

  /**
   * Run one `INSERT`, `UPDATE`, `DELETE` or `REPLACE`: as a dry run, unless `confirm` is true.
   *
   * A dry run makes the change in a transaction, reports how many rows it affects, and takes it back. To apply
   * it to production, the site needs a snapshot of the last hour.
   *
   * Scopes: `db:write`.
   */
  async executeInEnvironment(siteId: string, envId: string, body: types.NewStatement, options: RequestOptions = {}): Promise<types.StatementResult> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/database/execute`, { body, idempotent: "key", options });
    return dataOf<types.StatementResult>(found);
  }

  /**
   * Export the database of a site as SQL, or the result of a statement as lines of JSON.
   *
   * `GET /v1/jobs/{job_id}` shows the `download_url`, which expires, to credentials with `db:read`. A site has
   * at most 3 exports at a time.
   *
   * Scopes: `db:read`.
   */
  async export(siteId: string, body: types.NewExport = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/database/export`, { body: unlessEmpty(body), idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Export the database of a site as SQL, or the result of a statement as lines of JSON.
   *
   * `GET /v1/jobs/{job_id}` shows the `download_url`, which expires, to credentials with `db:read`. A site has
   * at most 3 exports at a time.
   *
   * Scopes: `db:read`.
   */
  async exportInEnvironment(siteId: string, envId: string, body: types.NewExport = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/database/export`, { body: unlessEmpty(body), idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}
