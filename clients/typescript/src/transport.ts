/** Sends requests with `fetch`, repeats those that may be repeated, and throws errors. */
import { AbortedError, ConfigurationError, ConnectionError, errorOf, type SteadError } from "./errors.js";
import { EventParser, type ServerSentEvent } from "./events.js";
import { Limit } from "./limits.js";
import { NOT_REPEATABLE } from "./repeats.js";
import { type Failure, type Idempotent, mayHaveHadEffect, readRetryAfter, waitBeforeRetry } from "./retries.js";

export interface ClientOptions {
  /** By default `STEAD_API_KEY`, where there are environment variables. */
  apiKey?: string | undefined;
  /** By default `STEAD_BASE_URL`. */
  baseUrl?: string | undefined;
  /** How often a failed request is repeated: 2 unless told. */
  maxRetries?: number | undefined;
  /** In milliseconds, until a response is complete: 60,000 unless told. Streams may take longer. */
  timeout?: number | undefined;
  /** The version of the API; by default the latest. */
  apiVersion?: string | undefined;
  /** Sent with every request. */
  headers?: Record<string, string> | undefined;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  timeout?: number | undefined;
  maxRetries?: number | undefined;
  /** In place of the one that the client makes. */
  idempotencyKey?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Called with every successful response as it arrived: status, headers, and the request's id. */
  onResponse?: ((response: RawResponse) => void) | undefined;
}

export interface RawResponse {
  status: number;
  headers: Headers;
  /** The parsed JSON, or undefined if there is none. */
  body: unknown;
  requestId: string | undefined;
}

export interface Sent {
  query?: object | undefined;
  body?: object | undefined;
  /**
   * Whether the request may be repeated if no response arrives. By default `natural` for GET and PUT, `key` for
   * POST and DELETE, and `none` for PATCH and for operations without a credential, which ignore the key.
   */
  idempotent?: Idempotent | undefined;
  options?: RequestOptions | undefined;
}

const DEFAULTS: Record<string, Idempotent> = { GET: "natural", PUT: "natural", DELETE: "key", POST: "key" };
const SILENCE_MS = 60_000;
/** The slowest upload that is waited for, in bytes for each millisecond. */
const SLOWEST_UPLOAD = 16;

export class Transport {
  readonly baseUrl: string;
  readonly #apiKey: string;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions = {}) {
    const address = options.baseUrl ?? variable("STEAD_BASE_URL");
    if (!address) throw new ConfigurationError("Give `baseUrl`, or set STEAD_BASE_URL.");
    this.baseUrl = address.replace(/\/+$/, "");
    this.#apiKey = (options.apiKey ?? variable("STEAD_API_KEY") ?? "").trim();
    this.#options = options;
  }

  /** Whether the key is a test key: its sites are simulated. */
  get isTest(): boolean {
    return this.#apiKey.startsWith("stead_test_");
  }

  async request(method: string, path: string, sent: Sent = {}): Promise<RawResponse> {
    const options = sent.options ?? {};
    const kind = sent.idempotent ?? defaultOf(method, path);
    const headers = this.#headers(options);
    if (kind === "key") headers.set("idempotency-key", options.idempotencyKey ?? newKey());
    let body: string | undefined;
    if (sent.body !== undefined) {
      headers.set("content-type", "application/json");
      body = JSON.stringify(sent.body);
    }
    const url = this.#url(path, sent.query);
    const most = this.maxRetries(options);
    let mayBeDone = false;
    for (let attempt = 0; ; attempt++) {
      const [response, failure, error] = await this.#attempt(url, method, headers, body, options);
      if (error === null) {
        options.onResponse?.(response);
        return response;
      }
      const onlyDeletes = method === "DELETE" && kind === "natural" && body === undefined;
      if (mayBeDone && onlyDeletes && failure.status === 404) {
        // An earlier attempt, whose response was lost, has deleted it.
        return { status: 204, headers: new Headers(), body: undefined, requestId: undefined };
      }
      const wait = waitBeforeRetry(failure, attempt, kind);
      if (wait === null || attempt >= most || error instanceof AbortedError) throw error;
      mayBeDone ||= mayHaveHadEffect(failure);
      await sleep(wait, options.signal);
    }
  }

  /** How often a failed request is repeated. */
  maxRetries(options: RequestOptions): number {
    return options.maxRetries ?? this.#options.maxRetries ?? 2;
  }

  /** How long an attempt may take, in milliseconds. */
  timeout(options: RequestOptions): number {
    return options.timeout ?? this.#options.timeout ?? 60_000;
  }

  /**
   * The events of one connection. `parser` remembers the last one, for the next connection; `health` learns when
   * the stream is open, and when something arrives.
   */
  async *events(
    path: string,
    parser: EventParser,
    health: StreamHealth,
    query?: object,
    options: RequestOptions = {},
  ): AsyncGenerator<ServerSentEvent | null, void, undefined> {
    const headers = this.#headers(options);
    headers.set("accept", "text/event-stream");
    if (parser.lastId) headers.set("last-event-id", parser.lastId);
    const limit = new Limit(options.signal, this.timeout(options));
    try {
      // Where the API does not lead to itself, the key must not follow.
      const init: RequestInit = { headers, signal: limit.signal, redirect: "manual" };
      const response = await this.#fetch(this.#url(path, query), init);
      refuseRedirect(response);
      if (!response.ok || response.body === null) {
        throw errorOf(response.status, await readJson(response), requestId(response));
      }
      health.heard();
      limit.pause();
      // It is open.
      yield null;
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      // Events that are not complete when the connection breaks are sent again.
      const lines = new EventParser(parser.lastId);
      for (;;) {
        // Only what the server takes counts, not what the caller takes for an event.
        limit.restart(SILENCE_MS);
        const { done, value } = await reader.read();
        limit.pause();
        if (done) return;
        health.heard();
        for (const event of lines.feed(decoder.decode(value, { stream: true }))) {
          parser.lastId = event.id;
          yield event;
        }
      }
    } catch (error) {
      throw limit.explain(error);
    } finally {
      limit.end();
    }
  }

  /** Send something to a URL that the API has returned. The key is not sent. */
  async put(url: string, method: string, headers: Record<string, string>, body: Blob, options: RequestOptions) {
    const limit = new Limit(options.signal, this.timeout(options) + body.size / SLOWEST_UPLOAD);
    try {
      const response = await this.#fetch(url, { method, headers, body, signal: limit.signal });
      await response.arrayBuffer();
      return response.status;
    } catch (error) {
      throw limit.explain(error);
    } finally {
      limit.end();
    }
  }

  async #attempt(
    url: string,
    method: string,
    headers: Headers,
    body: string | undefined,
    options: RequestOptions,
  ): Promise<[RawResponse, Failure, SteadError | null]> {
    const nothing: RawResponse = { status: 0, headers, body: undefined, requestId: undefined };
    const limit = new Limit(options.signal, this.timeout(options));
    try {
      const init: RequestInit = { method, headers, signal: limit.signal, redirect: "manual" };
      if (body !== undefined) init.body = body;
      const response = await this.#fetch(url, init);
      refuseRedirect(response);
      const parsed = await readJson(response);
      const found = { status: response.status, headers: response.headers, body: parsed, requestId: requestId(response) };
      if (response.ok || response.status === 304) return [found, { status: response.status }, null];
      const error = errorOf(response.status, parsed, found.requestId);
      const retryAfter = readRetryAfter(response.headers.get("retry-after"));
      return [found, { status: response.status, type: error.type, code: error.code, retryAfter }, error];
    } catch (error) {
      const explained = limit.explain(error);
      return [nothing, { status: explained instanceof WrongAddress ? 300 : 0 }, explained];
    } finally {
      limit.end();
    }
  }

  #fetch(url: string, init: RequestInit): Promise<Response> {
    return (this.#options.fetch ?? fetch)(url, init);
  }

  #headers(options: RequestOptions): Headers {
    const headers = new Headers({ accept: "application/json", ...this.#options.headers, ...options.headers });
    if (this.#apiKey) headers.set("authorization", `Bearer ${this.#apiKey}`);
    if (this.#options.apiVersion !== undefined) headers.set("api-version", this.#options.apiVersion);
    return headers;
  }

  #url(path: string, query: object | undefined): string {
    // Otherwise it would become part of the name of the host, and the key would be sent there.
    if (!path.startsWith("/")) throw new ConfigurationError("A path begins with a slash.");
    const pairs = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {})) {
      for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
        if (each !== undefined && each !== null) pairs.append(name, String(each));
      }
    }
    const text = pairs.toString();
    return `${this.baseUrl}${path}${text ? `?${text}` : ""}`;
  }
}

/** What is known about an open stream. */
export interface StreamHealth {
  /** It is open, or something has arrived. */
  heard(): void;
}

/** Something else than the API has answered. */
class WrongAddress extends ConnectionError {}

function defaultOf(method: string, path: string): Idempotent {
  const bare = path.split("?", 1)[0] ?? path;
  return NOT_REPEATABLE.has(`${method} ${bare}`) ? "none" : (DEFAULTS[method] ?? "none");
}

/** In browsers, a redirect that is not followed has no status. */
function refuseRedirect(response: Response): void {
  const redirects = response.status >= 300 && response.status < 400 && response.status !== 304;
  if (redirects || response.type === "opaqueredirect") {
    throw new WrongAddress("The server redirects. Is the address that of the Stead API?");
  }
}

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(new AbortedError("The request was aborted."));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** A value as one segment of a path. */
export function inPath(value: string): string {
  if (value === "" || value === "." || value === "..") throw new ConfigurationError("An identifier is empty.");
  return encodeURIComponent(value);
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A proxy may have sent a page.
    if (response.ok) throw new WrongAddress("The response is not JSON. Is the address that of the Stead API?");
    return undefined;
  }
}

function requestId(response: Response): string | undefined {
  return response.headers.get("x-request-id") ?? undefined;
}

/** `crypto.randomUUID` exists only on pages that were loaded with TLS. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `stead-typescript-retry-${text}`;
}

function variable(name: string): string | undefined {
  const known = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return known.process?.env?.[name];
}
