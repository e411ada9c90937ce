// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Projects extends Resource {
  /**
   * List your own projects, newest first.
   *
   * Scopes: `sites:read`.
   */
  list(query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Project> {
    const path = "/v1/projects";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create a project of your own.
   *
   * Scopes: `sites:write`.
   */
  async create(body: types.NewProject, options: RequestOptions = {}): Promise<types.Project> {
    const { body: found } = await this.transport.request("POST", "/v1/projects", { body, idempotent: "key", options });
    return dataOf<types.Project>(found);
  }

  /**
   * Read a project.
   *
   * Scopes: `sites:read`.
   */
  async get(projectId: string, options: RequestOptions = {}): Promise<types.Project> {
    const { body: found } = await this.transport.request("GET", `/v1/projects/${inPath(projectId)}`, { options });
    return dataOf<types.Project>(found);
  }

  /**
   * Rename a project.
   *
   * Scopes: `sites:write`.
   */
  async update(projectId: string, body: types.ProjectChange = {}, options: RequestOptions = {}): Promise<types.Project> {
    const { body: found } = await this.transport.request("PATCH", `/v1/projects/${inPath(projectId)}`, { body, idempotent: "none", options });
    return dataOf<types.Project>(found);
  }

  /**
   * Delete a project. Its sites are not deleted.
   *
   * Scopes: `sites:write`.
   */
  async delete(projectId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/projects/${inPath(projectId)}`, { idempotent: "natural", options });
  }

  /**
   * List the sites of a project.
   *
   * Scopes: `sites:read`.
   */
  sites(projectId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Site> {
    const path = `/v1/projects/${inPath(projectId)}/sites`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Add a site with the same owner to the project. It is removed from its previous project.
   *
   * Scopes: `sites:write`.
   */
  async assignSite(projectId: string, body: types.Assignment, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", `/v1/projects/${inPath(projectId)}/sites`, { body, idempotent: "key", options });
  }

  /**
   * Remove a site from the project.
   *
   * Scopes: `sites:write`.
   */
  async removeSite(projectId: string, siteId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/projects/${inPath(projectId)}/sites/${inPath(siteId)}`, { idempotent: "natural", options });
  }
}
