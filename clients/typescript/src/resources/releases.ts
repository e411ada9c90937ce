// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Releases extends Resource {
  /**
   * List the releases of an environment, live and earlier ones, newest first.
   *
   * Scopes: `deployments:read`.
   */
  list(siteId: string, envId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Release> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/releases`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }
}
