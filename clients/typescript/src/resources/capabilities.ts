// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Capabilities extends Resource {
  /**
   * List the capabilities of a site, which depend on its runtime.
   *
   * Scopes: `sites:read`.
   */
  async get(siteId: string, options: RequestOptions = {}): Promise<types.Capabilities> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/capabilities`, { options });
    return dataOf<types.Capabilities>(found);
  }
}
