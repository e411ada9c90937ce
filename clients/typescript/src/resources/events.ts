// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Events extends Resource {
  /**
   * List the events of the last 30 days that you can see, newest first.
   *
   * Events are in commit order. A new event never appears below one that you have already read. To poll, read
   * from the top until you reach the newest event of the previous poll.
   *
   * Scopes: `events:read`.
   */
  list(query: { type?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Event> {
    const path = "/v1/events";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }
}
