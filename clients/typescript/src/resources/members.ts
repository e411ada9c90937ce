// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Members extends Resource {
  /**
   * List the members of the team, newest first.
   *
   * Scopes: `teams:read`.
   */
  list(teamId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Member> {
    const path = `/v1/teams/${inPath(teamId)}/members`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Add an account to the team, with a role not above your own.
   *
   * Scopes: `teams:write`.
   */
  async add(teamId: string, body: types.NewMember, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", `/v1/teams/${inPath(teamId)}/members`, { body, idempotent: "key", options });
  }

  /**
   * Change the role of a member or the expiry of the membership.
   *
   * Scopes: `teams:write`.
   */
  async update(teamId: string, clientId: string, body: types.MemberChange, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("PATCH", `/v1/teams/${inPath(teamId)}/members/${inPath(clientId)}`, { body, idempotent: "none", options });
  }

  /**
   * Remove a member from the team, or leave it yourself.
   *
   * The last owner cannot leave: make another member an owner first, or delete the team.
   *
   * Scopes: `teams:write`.
   */
  async remove(teamId: string, clientId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/teams/${inPath(teamId)}/members/${inPath(clientId)}`, { idempotent: "natural", options });
  }
}
