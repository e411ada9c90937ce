// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Account extends Resource {
  /**
   * Send the email for verifying the address of the account again.
   *
   * Nothing is sent if the address is verified already.
   *
   * Scopes: `account:write`.
   */
  async sendVerification(options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", "/v1/account/verification", { idempotent: "key", options });
  }

  /**
   * Read the account and the scopes of this credential.
   *
   * Scopes: `account:read`.
   */
  async get(options: RequestOptions = {}): Promise<types.Account> {
    const { body: found } = await this.transport.request("GET", "/v1/account", { options });
    return dataOf<types.Account>(found);
  }

  /**
   * Close the account.
   *
   * All sessions and API keys end at once, the account leaves its teams, and its own sites are deleted. Sites
   * of teams stay. For thirty days, the operator can open the account again, and the sites can be recovered
   * then. After that, the content of the sites and the personal data of the account are erased.
   *
   * Scopes: `account:admin`.
   */
  async close(body: types.AccountClosure, options: RequestOptions = {}): Promise<types.ClosedAccount> {
    const { body: found } = await this.transport.request("DELETE", "/v1/account", { body, idempotent: "natural", options });
    return dataOf<types.ClosedAccount>(found);
  }

  /**
   * Change the account.
   *
   * A new email address or password requires `current_password`. A token is sent to a new address, which
   * replaces the current one when it is confirmed. The response is the same if another account has the
   * address: its owner gets an email about it. A new password ends all other sessions.
   *
   * Scopes: `account:write`.
   */
  async update(body: types.AccountChange = {}, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("PATCH", "/v1/account", { body, idempotent: "none", options });
  }

  /**
   * List the actions of your account and its API keys, including denied ones.
   *
   * Scopes: `audit:read`.
   */
  audit(query: { event?: string | null | undefined; actor?: string | null | undefined; since?: string | null | undefined; until?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.AuditEvent> {
    const path = "/v1/account/audit";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }
}
