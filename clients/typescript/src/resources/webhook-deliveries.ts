// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class WebhookDeliveries extends Resource {
  /**
   * List the deliveries of the last 30 days, newest first, with their attempts.
   *
   * Scopes: `webhooks:read`.
   */
  list(endpointId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Delivery> {
    const path = `/v1/webhook-endpoints/${inPath(endpointId)}/deliveries`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Send a delivery again, with the same id and body and a new signature.
   *
   * Scopes: `webhooks:write`.
   */
  async replay(endpointId: string, deliveryId: string, options: RequestOptions = {}): Promise<types.Delivery> {
    const { body: found } = await this.transport.request("POST", `/v1/webhook-endpoints/${inPath(endpointId)}/deliveries/${inPath(deliveryId)}/replay`, { idempotent: "key", options });
    return dataOf<types.Delivery>(found);
  }
}
