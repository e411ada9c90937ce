// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Artifacts extends Resource {
  /**
   * List the artifacts that can be deployed, newest first.
   *
   * An artifact belongs to the site: it can be deployed to every environment, whichever it was built for.
   * Artifacts that no environment has used lately are removed after 30 days; the ten newest are always kept.
   *
   * Scopes: `deployments:read`.
   */
  list(siteId: string, envId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Artifact> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/artifacts`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }
}
