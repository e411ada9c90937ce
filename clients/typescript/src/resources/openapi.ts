// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import type { RequestOptions } from "../transport.js";

export class Openapi extends Resource {
  /**
   * Read this description, as OpenAPI 3.1.
   *
   * It is compressed if you accept gzip. The response has an `ETag`. If you send it in `If-None-Match`, the
   * response is 304 until the description changes.
   */
  async get(options: RequestOptions = {}): Promise<Record<string, unknown>> {
    const { body: found } = await this.transport.request("GET", "/v1/openapi.json", { options });
    return found as Record<string, unknown>;
  }
}
