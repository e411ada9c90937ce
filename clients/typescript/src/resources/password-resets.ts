// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class PasswordResets extends Resource {
  /**
   * Send an email with a token for a new password to the address of an account.
   *
   * The response is the same whether there is such an account or not. Only verified addresses get the email.
   * The token is valid for an hour, once; a newer one replaces it.
   */
  async create(body: types.NewPasswordReset, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", "/v1/password-resets", { body, idempotent: "none", options });
  }

  /**
   * Choose a new password with the token from the email. All sessions of the account end.
   *
   * API keys stay valid. Revoke those that somebody else may know.
   */
  async confirm(body: types.PasswordResetConfirmation, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", "/v1/password-resets/confirm", { body, idempotent: "none", options });
  }
}
