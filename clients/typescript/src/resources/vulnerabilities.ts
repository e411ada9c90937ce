// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Vulnerabilities extends Resource {
  /**
   * Read the known vulnerabilities of WordPress, plugins and themes on a site, with their sources.
   *
   * Scopes: `vulnerabilities:read`.
   */
  async get(siteId: string, options: RequestOptions = {}): Promise<types.Vulnerabilities> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/security/vulnerabilities`, { options });
    return dataOf<types.Vulnerabilities>(found);
  }
}
