// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Security extends Resource {
  /**
   * Read the vulnerabilities, active detections and last scan of each site. At most 500 sites.
   *
   * Scopes: `security:read`, `vulnerabilities:read`.
   */
  async summary(options: RequestOptions = {}): Promise<types.SecuritySummary> {
    const { body: found } = await this.transport.request("GET", "/v1/security/summary", { options });
    return dataOf<types.SecuritySummary>(found);
  }
}
