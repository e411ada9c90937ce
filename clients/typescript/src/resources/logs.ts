// Generated from the API description by `make generate`.
import { followLive } from "../live.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import type { LiveEvent } from "../live.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Logs extends Resource {
  /**
   * List the latest log lines of all your sites.
   *
   * Those of the production environments of up to 1,000 sites, the newest ones. With `Accept:
   * text/event-stream`: an event `line` for each new one that meets the filters.
   *
   * Scopes: `observability:read`.
   */
  async tail(query: { hours?: number | undefined; severity?: types.LogTailSeverity | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Logs> {
    const { body: found } = await this.transport.request("GET", "/v1/logs", { query, options });
    return dataOf<types.Logs>(found);
  }

  /**
   * Follow what is new: list the latest log lines of all your sites.
   *
   * It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what arrived
   * meanwhile is missing.
   */
  followTail(query: { hours?: number | undefined; severity?: types.LogTailSeverity | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): AsyncGenerator<LiveEvent<types.LogLine>, void, undefined> {
    return followLive<types.LogLine>(this.transport, "/v1/logs", query, options);
  }

  /**
   * Count the log lines of all your sites over time, by severity.
   *
   * Scopes: `observability:read`.
   */
  async volume(query: { hours?: number | undefined; severity?: types.LogVolumeSeverity | null | undefined } = {}, options: RequestOptions = {}): Promise<types.LogVolume> {
    const { body: found } = await this.transport.request("GET", "/v1/logs/volume", { query, options });
    return dataOf<types.LogVolume>(found);
  }
}
