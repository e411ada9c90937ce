// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Sessions extends Resource {
  /**
   * Sign in with email address and password.
   *
   * The token is a Bearer credential with all scopes. It expires 12 hours after its last use, and at the
   * latest 30 days after sign-in. Attempts are rate limited per address and account, and more so from
   * addresses that have never signed in to the account.
   */
  async create(body: types.SignIn, options: RequestOptions = {}): Promise<types.Session> {
    const { body: found } = await this.transport.request("POST", "/v1/sessions", { body, idempotent: "none", options });
    return dataOf<types.Session>(found);
  }

  /**
   * List the sessions of the account that have not ended, newest first.
   *
   * Scopes: `account:read`.
   */
  list(query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.SessionSummary> {
    const path = "/v1/sessions";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * End the current session.
   *
   * With an API key, this does nothing: revoke a key with `DELETE /v1/api-keys/{key_id}`.
   */
  async revoke(options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", "/v1/sessions/current", { idempotent: "natural", options });
  }

  /**
   * End a session. Its token stops working immediately.
   *
   * Scopes: `account:write`.
   */
  async revokeOne(sessionId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sessions/${inPath(sessionId)}`, { idempotent: "natural", options });
  }
}
