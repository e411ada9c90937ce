// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class ApiKeys extends Resource {
  /**
   * List the API keys of the account, newest first, without their secrets.
   *
   * Scopes: `keys:read`.
   */
  list(query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Key> {
    const path = "/v1/api-keys";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create an API key. Its secret is returned only once, in this response.
   *
   * The key can only have scopes that the creating credential has. It inherits the pin of that credential, and
   * its IP allowlist must be within the allowlist of that credential.
   *
   * Scopes: `keys:write`.
   */
  async create(body: types.NewKey, options: RequestOptions = {}): Promise<types.MintedKey> {
    const { body: found } = await this.transport.request("POST", "/v1/api-keys", { body, idempotent: "key", options });
    return dataOf<types.MintedKey>(found);
  }

  /**
   * Read an API key, without its secret.
   *
   * Scopes: `keys:read`.
   */
  async get(keyId: string, options: RequestOptions = {}): Promise<types.Key> {
    const { body: found } = await this.transport.request("GET", `/v1/api-keys/${inPath(keyId)}`, { options });
    return dataOf<types.Key>(found);
  }

  /**
   * Rename an API key or remove scopes from it. Scopes cannot be added.
   *
   * Scopes: `keys:write`.
   */
  async update(keyId: string, body: types.KeyChange = {}, options: RequestOptions = {}): Promise<types.Key> {
    const { body: found } = await this.transport.request("PATCH", `/v1/api-keys/${inPath(keyId)}`, { body, idempotent: "none", options });
    return dataOf<types.Key>(found);
  }

  /**
   * Revoke an API key and every key that was created with it. Their secrets stop working immediately.
   *
   * So do the secrets that were obtained with it by rolling other keys. Such a key goes on with its previous
   * secret as long as that works, and is revoked if it has none.
   *
   * Scopes: `keys:write`.
   */
  async revoke(keyId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/api-keys/${inPath(keyId)}`, { idempotent: "natural", options });
  }

  /**
   * Create a new secret for an API key. The old secret works for another 24 hours.
   *
   * The new secret is returned only once. If the key is rolled again within that time, the oldest secret stops
   * working immediately.
   *
   * Scopes: `keys:write`.
   */
  async roll(keyId: string, options: RequestOptions = {}): Promise<types.RolledKey> {
    const { body: found } = await this.transport.request("POST", `/v1/api-keys/${inPath(keyId)}/roll`, { idempotent: "key", options });
    return dataOf<types.RolledKey>(found);
  }
}
