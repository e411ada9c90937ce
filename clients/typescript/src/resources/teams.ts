// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Teams extends Resource {
  /**
   * List the teams of which you are a member, with your role in each.
   *
   * Scopes: `teams:read`.
   */
  list(query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Team> {
    const path = "/v1/teams";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create a team and become its owner.
   *
   * Scopes: `teams:write`.
   */
  async create(body: types.NewTeam, options: RequestOptions = {}): Promise<types.CreatedTeam> {
    const { body: found } = await this.transport.request("POST", "/v1/teams", { body, idempotent: "key", options });
    return dataOf<types.CreatedTeam>(found);
  }

  /**
   * Read a team.
   *
   * Scopes: `teams:read`.
   */
  async get(teamId: string, options: RequestOptions = {}): Promise<types.Team> {
    const { body: found } = await this.transport.request("GET", `/v1/teams/${inPath(teamId)}`, { options });
    return dataOf<types.Team>(found);
  }

  /**
   * Rename a team.
   *
   * Scopes: `teams:write`.
   */
  async update(teamId: string, body: types.TeamChange = {}, options: RequestOptions = {}): Promise<types.Team> {
    const { body: found } = await this.transport.request("PATCH", `/v1/teams/${inPath(teamId)}`, { body, idempotent: "none", options });
    return dataOf<types.Team>(found);
  }

  /**
   * Delete a team that has no sites.
   *
   * Deleted sites that can still be recovered are transferred to your account.
   *
   * Scopes: `teams:write`.
   */
  async delete(teamId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/teams/${inPath(teamId)}`, { idempotent: "natural", options });
  }

  /**
   * Read the limits of the team's plan and the current usage.
   *
   * Scopes: `teams:read`.
   */
  async plan(teamId: string, options: RequestOptions = {}): Promise<types.Plan> {
    const { body: found } = await this.transport.request("GET", `/v1/teams/${inPath(teamId)}/plan`, { options });
    return dataOf<types.Plan>(found);
  }

  /**
   * List the sites that a team owns.
   *
   * Scopes: `teams:read`.
   */
  sites(teamId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Site> {
    const path = `/v1/teams/${inPath(teamId)}/sites`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * List the actions in a team, including denied ones.
   *
   * Scopes: `audit:read`.
   */
  audit(teamId: string, query: { event?: string | null | undefined; actor?: string | null | undefined; since?: string | null | undefined; until?: string | null | undefined; before?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.AuditEvent> {
    const path = `/v1/teams/${inPath(teamId)}/audit`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Get the web vitals of all sites of a team, and how fast the server answers.
   *
   * Of the production environments of up to 1,000 sites, the newest ones, that your role and your credential
   * can see.
   *
   * Scopes: `observability:read`.
   */
  async insightsSummary(teamId: string, query: { days?: number | undefined; from?: string | null | undefined; to?: string | null | undefined } = {}, options: RequestOptions = {}): Promise<types.Summary> {
    const { body: found } = await this.transport.request("GET", `/v1/teams/${inPath(teamId)}/insights/summary`, { query, options });
    return dataOf<types.Summary>(found);
  }
}
