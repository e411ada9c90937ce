// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Usage extends Resource {
  /**
   * Get how much each of your sites stores.
   *
   * Of up to 1,000 sites, the newest ones: now, and on each of the last 30 days.
   *
   * Scopes: `observability:read`.
   */
  async storage(query: { latest?: boolean | undefined } = {}, options: RequestOptions = {}): Promise<types.Storage> {
    const { body: found } = await this.transport.request("GET", "/v1/usage/storage", { query, options });
    return dataOf<types.Storage>(found);
  }
}
