// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class RateLimits extends Resource {
  /** Read the rate limits of this credential. This request does not count toward them. */
  async get(options: RequestOptions = {}): Promise<types.RateLimits> {
    const { body: found } = await this.transport.request("GET", "/v1/rate-limits", { options });
    return dataOf<types.RateLimits>(found);
  }
}
