// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class DeviceAuthorizations extends Resource {
  /**
   * Begin to sign in on a device.
   *
   * The device shows `user_code` and `verification_uri`. A person opens the page, signs in, compares the code
   * and approves. Meanwhile the device asks `POST /v1/device-authorizations/token` for its key.
   */
  async create(body: types.NewDeviceAuthorization, options: RequestOptions = {}): Promise<types.StartedDevice> {
    const { body: found } = await this.transport.request("POST", "/v1/device-authorizations", { body, idempotent: "none", options });
    return dataOf<types.StartedDevice>(found);
  }

  /**
   * Collect the key of a device whose sign-in was approved.
   *
   * Until somebody has approved it, the response is `device.pending`. The key is valid for 90 days. Within a
   * minute it can be collected again, because a response can be lost: the key before is revoked.
   */
  async token(body: types.DeviceTokenRequest, options: RequestOptions = {}): Promise<types.DeviceToken> {
    const { body: found } = await this.transport.request("POST", "/v1/device-authorizations/token", { body, idempotent: "none", options });
    return dataOf<types.DeviceToken>(found);
  }

  /**
   * Read what a device asks for, before you approve it.
   *
   * Only while it waits. Attempts with codes are counted.
   *
   * Scopes: `keys:read`.
   */
  async get(userCode: string, options: RequestOptions = {}): Promise<types.DeviceAuthorization> {
    const { body: found } = await this.transport.request("GET", `/v1/device-authorizations/${inPath(userCode)}`, { options });
    return dataOf<types.DeviceAuthorization>(found);
  }

  /**
   * Let a device sign in to your account: it gets an API key for 90 days.
   *
   * Only with the token of a session. Revoke the key with `DELETE /v1/api-keys/{key_id}`.
   *
   * Scopes: `keys:write`.
   */
  async approve(userCode: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", `/v1/device-authorizations/${inPath(userCode)}/approve`, { idempotent: "key", options });
  }

  /**
   * Do not let a device sign in.
   *
   * Scopes: `keys:write`.
   */
  async deny(userCode: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("POST", `/v1/device-authorizations/${inPath(userCode)}/deny`, { idempotent: "key", options });
  }
}
