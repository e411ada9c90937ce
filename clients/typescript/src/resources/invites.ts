// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Invites extends Resource {
  /**
   * List the pending invites of the team.
   *
   * Scopes: `teams:read`.
   */
  list(teamId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Invite> {
    const path = `/v1/teams/${inPath(teamId)}/invites`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Invite somebody to the team, with a role not above your own.
   *
   * The token is returned only once, in this response. With an `email`, the token is also sent to that
   * address, and only the account with that address can accept the invite, once the address is verified. Your
   * own address must be verified for that.
   *
   * Scopes: `teams:write`.
   */
  async create(teamId: string, body: types.NewInvite, options: RequestOptions = {}): Promise<types.CreatedInvite> {
    const { body: found } = await this.transport.request("POST", `/v1/teams/${inPath(teamId)}/invites`, { body, idempotent: "key", options });
    return dataOf<types.CreatedInvite>(found);
  }

  /**
   * Revoke a pending invite.
   *
   * Scopes: `teams:write`.
   */
  async revoke(teamId: string, inviteId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/teams/${inPath(teamId)}/invites/${inPath(inviteId)}`, { idempotent: "natural", options });
  }

  /**
   * Accept an invite and join the team.
   *
   * Scopes: `account:write`.
   */
  async accept(body: types.Acceptance, options: RequestOptions = {}): Promise<types.Accepted> {
    const { body: found } = await this.transport.request("POST", "/v1/invites/accept", { body, idempotent: "key", options });
    return dataOf<types.Accepted>(found);
  }
}
