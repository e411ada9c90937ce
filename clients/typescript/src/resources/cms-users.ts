// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class CmsUsers extends Resource {
  /**
   * List the users of a site, newest first.
   *
   * Scopes: `cms.users:read`.
   */
  list(siteId: string, query: { role?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.CmsUser> {
    const path = `/v1/sites/${inPath(siteId)}/users`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create a user of a site.
   *
   * Scopes: `cms.users:write`.
   */
  async create(siteId: string, body: types.NewCmsUser, options: RequestOptions = {}): Promise<types.CmsUserWithPassword> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/users`, { body, idempotent: "key", options });
    return dataOf<types.CmsUserWithPassword>(found);
  }

  /**
   * List the users of a site, newest first.
   *
   * Scopes: `cms.users:read`.
   */
  listInEnvironment(siteId: string, envId: string, query: { role?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.CmsUser> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/users`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create a user of a site.
   *
   * Scopes: `cms.users:write`.
   */
  async createInEnvironment(siteId: string, envId: string, body: types.NewCmsUser, options: RequestOptions = {}): Promise<types.CmsUserWithPassword> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/users`, { body, idempotent: "key", options });
    return dataOf<types.CmsUserWithPassword>(found);
  }

  /**
   * Read a user of a site.
   *
   * Scopes: `cms.users:read`.
   */
  async get(siteId: string, userId: string, options: RequestOptions = {}): Promise<types.CmsUser> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/users/${inPath(userId)}`, { options });
    return dataOf<types.CmsUser>(found);
  }

  /**
   * Change a user of a site, or give the user a new password.
   *
   * A new password signs the user out everywhere. The last administrator keeps that role.
   *
   * Scopes: `cms.users:write`.
   */
  async update(siteId: string, userId: string, body: types.CmsUserChange = {}, options: RequestOptions = {}): Promise<types.CmsUserWithPassword> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/users/${inPath(userId)}`, { body, idempotent: "none", options });
    return dataOf<types.CmsUserWithPassword>(found);
  }

  /**
   * Delete a user of a site. The last administrator cannot be deleted.
   *
   * If the user has written something, `reassign` must name the user who gets it.
   *
   * Scopes: `cms.users:write`.
   */
  async delete(siteId: string, userId: string, query: { reassign?: string | null | undefined } = {}, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/users/${inPath(userId)}`, { query, idempotent: "natural", options });
  }

  /**
   * Read a user of a site.
   *
   * Scopes: `cms.users:read`.
   */
  async getInEnvironment(siteId: string, envId: string, userId: string, options: RequestOptions = {}): Promise<types.CmsUser> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/users/${inPath(userId)}`, { options });
    return dataOf<types.CmsUser>(found);
  }

  /**
   * Change a user of a site, or give the user a new password.
   *
   * A new password signs the user out everywhere. The last administrator keeps that role.
   *
   * Scopes: `cms.users:write`.
   */
  async updateInEnvironment(siteId: string, envId: string, userId: string, body: types.CmsUserChange = {}, options: RequestOptions = {}): Promise<types.CmsUserWithPassword> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/users/${inPath(userId)}`, { body, idempotent: "none", options });
    return dataOf<types.CmsUserWithPassword>(found);
  }

  /**
   * Delete a user of a site. The last administrator cannot be deleted.
   *
   * If the user has written something, `reassign` must name the user who gets it.
   *
   * Scopes: `cms.users:write`.
   */
  async deleteInEnvironment(siteId: string, envId: string, userId: string, query: { reassign?: string | null | undefined } = {}, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/users/${inPath(userId)}`, { query, idempotent: "natural", options });
  }
}
