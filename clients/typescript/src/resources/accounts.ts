// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Accounts extends Resource {
  /**
   * Sign up for an account.
   *
   * An email with a token is sent to the address. The account exists when the token was sent to `POST
   * /v1/accounts/verify-email`; then sign in with `POST /v1/sessions`. The response is the same if the address
   * has an account already: its owner gets an email about it. Installations that do not verify addresses
   * create the account at once, and refuse an address that has one.
   */
  async signUp(body: types.NewAccount, options: RequestOptions = {}): Promise<types.SignedUp> {
    const { body: found } = await this.transport.request("POST", "/v1/accounts", { body, idempotent: "none", options });
    return dataOf<types.SignedUp>(found);
  }

  /**
   * Confirm an email address with the token that was sent to it.
   *
   * If the token was sent because of a sign-up, the account exists from now on; `password` must be the one of
   * the sign-up. If it was sent because of `new_email`, the account has the new address.
   */
  async verifyEmail(body: types.EmailVerification, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", "/v1/accounts/verify-email", { body, idempotent: "none", options });
  }
}
