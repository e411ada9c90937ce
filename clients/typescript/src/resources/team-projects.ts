// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class TeamProjects extends Resource {
  /**
   * List the projects of the team, newest first.
   *
   * Scopes: `teams:read`.
   */
  list(teamId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Project> {
    const path = `/v1/teams/${inPath(teamId)}/projects`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create a project of the team.
   *
   * Scopes: `teams:write`.
   */
  async create(teamId: string, body: types.NewProject, options: RequestOptions = {}): Promise<types.Project> {
    const { body: found } = await this.transport.request("POST", `/v1/teams/${inPath(teamId)}/projects`, { body, idempotent: "key", options });
    return dataOf<types.Project>(found);
  }

  /**
   * Read a project.
   *
   * Scopes: `teams:read`.
   */
  async get(teamId: string, projectId: string, options: RequestOptions = {}): Promise<types.Project> {
    const { body: found } = await this.transport.request("GET", `/v1/teams/${inPath(teamId)}/projects/${inPath(projectId)}`, { options });
    return dataOf<types.Project>(found);
  }

  /**
   * Rename a project.
   *
   * Scopes: `teams:write`.
   */
  async update(teamId: string, projectId: string, body: types.ProjectChange = {}, options: RequestOptions = {}): Promise<types.Project> {
    const { body: found } = await this.transport.request("PATCH", `/v1/teams/${inPath(teamId)}/projects/${inPath(projectId)}`, { body, idempotent: "none", options });
    return dataOf<types.Project>(found);
  }

  /**
   * Delete a project. Its sites are not deleted.
   *
   * Scopes: `teams:write`.
   */
  async delete(teamId: string, projectId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/teams/${inPath(teamId)}/projects/${inPath(projectId)}`, { idempotent: "natural", options });
  }

  /**
   * List the sites of a project.
   *
   * Scopes: `teams:read`.
   */
  sites(teamId: string, projectId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Site> {
    const path = `/v1/teams/${inPath(teamId)}/projects/${inPath(projectId)}/sites`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Add a site with the same owner to the project. It is removed from its previous project.
   *
   * Scopes: `teams:write`.
   */
  async assignSite(teamId: string, projectId: string, body: types.Assignment, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", `/v1/teams/${inPath(teamId)}/projects/${inPath(projectId)}/sites`, { body, idempotent: "key", options });
  }

  /**
   * Remove a site from the project.
   *
   * Scopes: `teams:write`.
   */
  async removeSite(teamId: string, projectId: string, siteId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/teams/${inPath(teamId)}/projects/${inPath(projectId)}/sites/${inPath(siteId)}`, { idempotent: "natural", options });
  }
}
