// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Secrets extends Resource {
  /**
   * List the secrets and plain variables of an environment, by name, from Z to A. No secret is returned.
   *
   * Scopes: `secrets:read`.
   */
  list(siteId: string, envId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Secret> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/secrets`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Set or replace a secret, or a plain variable. The next build reads it as an environment variable.
   *
   * Secrets are stored sealed and never returned. They are masked in the output of builds, also in base64,
   * hexadecimal and percent-encoding. What a build writes into the files of the site is public.
   *
   * Scopes: `secrets:write`.
   */
  async set(siteId: string, envId: string, name: string, body: types.NewSecret, options: RequestOptions = {}): Promise<types.Secret> {
    const { body: found } = await this.transport.request("PUT", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/secrets/${inPath(name)}`, { body, options });
    return dataOf<types.Secret>(found);
  }

  /**
   * Delete a secret. Builds that have begun keep it until they end.
   *
   * Scopes: `secrets:write`.
   */
  async delete(siteId: string, envId: string, name: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/secrets/${inPath(name)}`, { idempotent: "natural", options });
  }
}
