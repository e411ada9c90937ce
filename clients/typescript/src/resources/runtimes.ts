// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Runtimes extends Resource {
  /**
   * List all runtimes, including planned ones, with the capabilities of their sites.
   *
   * Scopes: `sites:read`.
   */
  async list(options: RequestOptions = {}): Promise<types.Runtimes> {
    const { body: found } = await this.transport.request("GET", "/v1/runtimes", { options });
    return dataOf<types.Runtimes>(found);
  }
}
