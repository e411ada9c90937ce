// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class WebhookEndpoints extends Resource {
  /**
   * List the endpoints of the account, newest first, without their secrets.
   *
   * Scopes: `webhooks:read`.
   */
  list(query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Endpoint> {
    const path = "/v1/webhook-endpoints";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create an endpoint. Only this response contains the secret that signs its deliveries.
   *
   * The endpoint receives the events that this credential can read, within its pin and mode.
   *
   * Scopes: `webhooks:write`.
   */
  async create(body: types.NewEndpoint, options: RequestOptions = {}): Promise<types.RevealedEndpoint> {
    const { body: found } = await this.transport.request("POST", "/v1/webhook-endpoints", { body, idempotent: "key", options });
    return dataOf<types.RevealedEndpoint>(found);
  }

  /**
   * List all event types, with the schema and an example of `data`.
   *
   * Scopes: `webhooks:read`.
   */
  async eventTypes(options: RequestOptions = {}): Promise<types.EventTypes> {
    const { body: found } = await this.transport.request("GET", "/v1/webhook-endpoints/event-types", { options });
    return dataOf<types.EventTypes>(found);
  }

  /**
   * Read an endpoint, without its secret.
   *
   * Scopes: `webhooks:read`.
   */
  async get(endpointId: string, options: RequestOptions = {}): Promise<types.Endpoint> {
    const { body: found } = await this.transport.request("GET", `/v1/webhook-endpoints/${inPath(endpointId)}`, { options });
    return dataOf<types.Endpoint>(found);
  }

  /**
   * Change an endpoint. `event_types` replaces the whole list.
   *
   * Pending deliveries of a disabled endpoint fail. They can be replayed when the endpoint is enabled again.
   *
   * Scopes: `webhooks:write`.
   */
  async update(endpointId: string, body: types.EndpointChange = {}, options: RequestOptions = {}): Promise<types.Endpoint> {
    const { body: found } = await this.transport.request("PATCH", `/v1/webhook-endpoints/${inPath(endpointId)}`, { body, idempotent: "none", options });
    return dataOf<types.Endpoint>(found);
  }

  /**
   * Delete an endpoint. It receives no more deliveries.
   *
   * Scopes: `webhooks:write`.
   */
  async delete(endpointId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/webhook-endpoints/${inPath(endpointId)}`, { idempotent: "natural", options });
  }

  /**
   * Replace the secret of an endpoint. For 24 hours deliveries are signed with both secrets.
   *
   * Only this response contains the new secret.
   *
   * Scopes: `webhooks:write`.
   */
  async roll(endpointId: string, options: RequestOptions = {}): Promise<types.RevealedEndpoint> {
    const { body: found } = await this.transport.request("POST", `/v1/webhook-endpoints/${inPath(endpointId)}/roll`, { idempotent: "key", options });
    return dataOf<types.RevealedEndpoint>(found);
  }

  /**
   * Send a test event, `webhook.ping`, to an endpoint, whatever it subscribes to.
   *
   * It is signed, repeated and logged like any other delivery: read its outcome in the deliveries of the
   * endpoint. An endpoint gets at most 5 a minute, all endpoints of an account together at most 20.
   *
   * Scopes: `webhooks:write`.
   */
  async ping(endpointId: string, options: RequestOptions = {}): Promise<types.Delivery> {
    const { body: found } = await this.transport.request("POST", `/v1/webhook-endpoints/${inPath(endpointId)}/ping`, { idempotent: "key", options });
    return dataOf<types.Delivery>(found);
  }
}
