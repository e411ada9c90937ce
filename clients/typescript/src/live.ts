/** What is new, as a stream that goes on until the caller stops. */
import { ApiError } from "./errors.js";
import { EventParser } from "./events.js";
import { Reconnects } from "./jobs.js";
import type { RequestOptions, Transport } from "./transport.js";

/**
 * `kind` is `truncated` if more arrived than is shown, `error` if the server could not look, and `reconnected`
 * after a broken connection: what arrived meanwhile is missing. Everything else has an `item`.
 */
export interface LiveEvent<T> {
  kind: string;
  item: T | null;
  data: Record<string, unknown>;
}

const NOTICES = new Set(["truncated", "error"]);

export async function* followLive<T>(
  transport: Transport,
  path: string,
  query: object | undefined,
  options: RequestOptions = {},
): AsyncGenerator<LiveEvent<T>, void, undefined> {
  const reconnects = new Reconnects();
  let isFirst = true;
  for (;;) {
    let failure: unknown = null;
    try {
      for await (const event of transport.events(path, new EventParser(), reconnects, query, options)) {
        if (event === null) {
          if (!isFirst) yield { kind: "reconnected", item: null, data: {} };
          isFirst = false;
          continue;
        }
        reconnects.worked();
        const data = JSON.parse(event.data) as Record<string, unknown>;
        yield { kind: event.event, item: NOTICES.has(event.event) ? null : (data as T), data };
      }
    } catch (error) {
      if (isFirst && error instanceof ApiError) throw error;
      failure = error;
    }
    await reconnects.wait(failure, options.signal);
  }
}
