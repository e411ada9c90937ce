// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Content extends Resource {
  /**
   * List the posts, pages and media of a site, newest first.
   *
   * Content that is added while you read pages neither moves nor hides anything.
   *
   * Scopes: `cms.content:read`.
   */
  list(siteId: string, query: { type?: types.ContentType | null | undefined; status?: types.ContentFilterStatus | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Content> {
    const path = `/v1/sites/${inPath(siteId)}/content`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Write a post or a page, or add a file that was uploaded.
   *
   * WordPress and its plugins treat it as if an administrator had written it, with one difference: scripts and
   * other unsafe HTML are removed. Without `author`, the first administrator is the author.
   *
   * Scopes: `cms.content:write`.
   */
  async create(siteId: string, body: types.NewContent = {}, options: RequestOptions = {}): Promise<types.ContentDetail> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/content`, { body, idempotent: "key", options });
    return dataOf<types.ContentDetail>(found);
  }

  /**
   * List the posts, pages and media of a site, newest first.
   *
   * Content that is added while you read pages neither moves nor hides anything.
   *
   * Scopes: `cms.content:read`.
   */
  listInEnvironment(siteId: string, envId: string, query: { type?: types.ContentType | null | undefined; status?: types.ContentFilterStatus | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Content> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/content`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Write a post or a page, or add a file that was uploaded.
   *
   * WordPress and its plugins treat it as if an administrator had written it, with one difference: scripts and
   * other unsafe HTML are removed. Without `author`, the first administrator is the author.
   *
   * Scopes: `cms.content:write`.
   */
  async createInEnvironment(siteId: string, envId: string, body: types.NewContent = {}, options: RequestOptions = {}): Promise<types.ContentDetail> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/content`, { body, idempotent: "key", options });
    return dataOf<types.ContentDetail>(found);
  }

  /**
   * Read a post, a page or a file.
   *
   * Scopes: `cms.content:read`.
   */
  async get(siteId: string, contentId: string, options: RequestOptions = {}): Promise<types.ContentDetail> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/content/${inPath(contentId)}`, { options });
    return dataOf<types.ContentDetail>(found);
  }

  /**
   * Change a post, a page or the description of a file. WordPress keeps a revision of what it was.
   *
   * Scopes: `cms.content:write`.
   */
  async update(siteId: string, contentId: string, body: types.ContentChange = {}, options: RequestOptions = {}): Promise<types.ContentDetail> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/content/${inPath(contentId)}`, { body, idempotent: "none", options });
    return dataOf<types.ContentDetail>(found);
  }

  /**
   * Move a post or a page to the trash. What is in the trash already, and any file, is deleted for good.
   *
   * Scopes: `cms.content:write`.
   */
  async delete(siteId: string, contentId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/content/${inPath(contentId)}`, { idempotent: "natural", options });
  }

  /**
   * Read a post, a page or a file.
   *
   * Scopes: `cms.content:read`.
   */
  async getInEnvironment(siteId: string, envId: string, contentId: string, options: RequestOptions = {}): Promise<types.ContentDetail> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/content/${inPath(contentId)}`, { options });
    return dataOf<types.ContentDetail>(found);
  }

  /**
   * Change a post, a page or the description of a file. WordPress keeps a revision of what it was.
   *
   * Scopes: `cms.content:write`.
   */
  async updateInEnvironment(siteId: string, envId: string, contentId: string, body: types.ContentChange = {}, options: RequestOptions = {}): Promise<types.ContentDetail> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/content/${inPath(contentId)}`, { body, idempotent: "none", options });
    return dataOf<types.ContentDetail>(found);
  }

  /**
   * Move a post or a page to the trash. What is in the trash already, and any file, is deleted for good.
   *
   * Scopes: `cms.content:write`.
   */
  async deleteInEnvironment(siteId: string, envId: string, contentId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/content/${inPath(contentId)}`, { idempotent: "natural", options });
  }

  /**
   * Write, change and delete up to 100 posts and pages, one after the other.
   *
   * The output of the job reports each of them. The job fails if nothing could be changed.
   *
   * Scopes: `cms.content:write`.
   */
  async batch(siteId: string, body: types.ContentBatch, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/content:batch`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Write, change and delete up to 100 posts and pages, one after the other.
   *
   * The output of the job reports each of them. The job fails if nothing could be changed.
   *
   * Scopes: `cms.content:write`.
   */
  async batchInEnvironment(siteId: string, envId: string, body: types.ContentBatch, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/content:batch`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}
