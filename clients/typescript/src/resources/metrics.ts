// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Metrics extends Resource {
  /**
   * Get a metric of all your sites over time.
   *
   * Of the production environments of up to 1,000 sites, the newest ones.
   *
   * Scopes: `observability:read`.
   */
  async series(query: { name: types.Name; hours?: number | undefined; limit?: number | undefined }, options: RequestOptions = {}): Promise<types.Metric> {
    const { body: found } = await this.transport.request("GET", "/v1/metrics", { query, options });
    return dataOf<types.Metric>(found);
  }
}
