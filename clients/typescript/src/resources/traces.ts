// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Traces extends Resource {
  /**
   * List the latest spans of traced requests of all your sites.
   *
   * Of the production environments of up to 1,000 sites, the newest ones.
   *
   * Scopes: `observability:read`.
   */
  async recent(query: { hours?: number | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Traces> {
    const { body: found } = await this.transport.request("GET", "/v1/traces", { query, options });
    return dataOf<types.Traces>(found);
  }
}
