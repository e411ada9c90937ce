// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Notifications extends Resource {
  /**
   * List your notifications, newest first.
   *
   * `bell` selects highlighted notifications: warnings and worse, and every deployment.
   *
   * Scopes: `notifications:read`.
   */
  list(query: { unread?: boolean | null | undefined; bell?: boolean | null | undefined; category?: string | null | undefined; severity?: types.Severity | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Notification> {
    const path = "/v1/notifications";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Count your unread notifications.
   *
   * Scopes: `notifications:read`.
   */
  async unreadCount(options: RequestOptions = {}): Promise<types.Unread> {
    const { body: found } = await this.transport.request("GET", "/v1/notifications/unread-count", { options });
    return dataOf<types.Unread>(found);
  }

  /**
   * Mark the listed notifications, or all, as read.
   *
   * A test key marks only those of test sites.
   *
   * Scopes: `notifications:write`.
   */
  async markRead(body: types.Marking = {}, options: RequestOptions = {}): Promise<types.Marked> {
    const { body: found } = await this.transport.request("POST", "/v1/notifications/read", { body, idempotent: "key", options });
    return dataOf<types.Marked>(found);
  }
}
