// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class NotificationPreferences extends Resource {
  /**
   * Read for which categories you get email.
   *
   * Scopes: `notifications:read`.
   */
  async get(options: RequestOptions = {}): Promise<types.Preferences> {
    const { body: found } = await this.transport.request("GET", "/v1/notification-preferences", { options });
    return dataOf<types.Preferences>(found);
  }

  /**
   * Set for which categories you get email. Email is on for categories that you do not list.
   *
   * Scopes: `notifications:write`.
   */
  async replace(body: types.NewPreferences, options: RequestOptions = {}): Promise<types.Preferences> {
    const { body: found } = await this.transport.request("PUT", "/v1/notification-preferences", { body, options });
    return dataOf<types.Preferences>(found);
  }
}
