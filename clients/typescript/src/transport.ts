/** Sends requests with `fetch`, repeats those that may be repeated, and throws errors. */
import { AbortedError, ConfigurationError, ConnectionError, errorOf, SteadError, TimeoutError } from "./errors.js";
import { EventParser, type ServerSentEvent } from "./events.js";
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
  idempotent?: Idempotent | undefined;
  options?: RequestOptions | undefined;
}

const DEFAULTS: Record<string, Idempotent> = { GET: "natural", PUT: "natural", DELETE: "natural", POST: "key" };
const SILENCE_MS = 60_000;

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
    const kind = sent.idempotent ?? DEFAULTS[method] ?? "none";
    const headers = this.#headers(options);
    if (kind === "key") headers.set("idempotency-key", options.idempotencyKey ?? newKey());
    let body: string | undefined;
    if (sent.body !== undefined) {
      headers.set("content-type", "application/json");
      body = JSON.stringify(sent.body);
    }
    const url = this.#url(path, sent.query);
    const most = options.maxRetries ?? this.#options.maxRetries ?? 2;
    let mayBeDone = false;
    for (let attempt = 0; ; attempt++) {
      const [response, failure, error] = await this.#attempt(url, method, headers, body, options);
      if (error === null) return response;
      if (mayBeDone && method === "DELETE" && failure.status === 404) {
        // An earlier attempt, whose response was lost, has deleted it.
        return { status: 204, headers: new Headers(), body: undefined, requestId: undefined };
      }
      const wait = waitBeforeRetry(failure, attempt, kind);
      if (wait === null || attempt >= most || error instanceof AbortedError) throw error;
      mayBeDone ||= mayHaveHadEffect(failure);
      await sleep(wait, options.signal);
    }
  }

  /** The events of one connection. `parser` remembers the last one, for the next connection. */
  async *events(
    path: string,
    parser: EventParser,
    query?: object,
    options: RequestOptions = {},
  ): AsyncGenerator<ServerSentEvent, void, undefined> {
    const headers = this.#headers(options);
    headers.set("accept", "text/event-stream");
    if (parser.lastId) headers.set("last-event-id", parser.lastId);
    const limit = new Limit(options.signal, this.#timeout(options));
    try {
      // Where the API does not lead to itself, the key must not follow.
      const init: RequestInit = { headers, signal: limit.signal, redirect: "manual" };
      const response = await this.#fetch(this.#url(path, query), init);
      if (!response.ok || response.body === null) {
        throw errorOf(response.status, await readJson(response), requestId(response));
      }
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      // Events that are not complete when the connection breaks are sent again.
      const lines = new EventParser(parser.lastId);
      for (;;) {
        limit.restart(SILENCE_MS);
        const { done, value } = await reader.read();
        if (done) return;
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
    const limit = new Limit(options.signal, undefined);
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
    const limit = new Limit(options.signal, this.#timeout(options));
    try {
      const init: RequestInit = { method, headers, signal: limit.signal, redirect: "manual" };
      if (body !== undefined) init.body = body;
      const response = await this.#fetch(url, init);
      const parsed = await readJson(response);
      const found = { status: response.status, headers: response.headers, body: parsed, requestId: requestId(response) };
      if (response.ok || response.status === 304) return [found, { status: response.status }, null];
      const error = errorOf(response.status, parsed, found.requestId);
      const retryAfter = readRetryAfter(response.headers.get("retry-after"));
      return [found, { status: response.status, type: error.type, code: error.code, retryAfter }, error];
    } catch (error) {
      return [nothing, { status: 0 }, limit.explain(error)];
    } finally {
      limit.end();
    }
  }

  #timeout(options: RequestOptions): number {
    return options.timeout ?? this.#options.timeout ?? 60_000;
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
    const pairs = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined && value !== null) pairs.append(name, String(value));
    }
    const text = pairs.toString();
    return `${this.baseUrl}${path}${text ? `?${text}` : ""}`;
  }
}

/** Ends a request when the caller wants it, or when it takes too long. */
class Limit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLate = false;

  constructor(outer: AbortSignal | undefined, timeout: number | undefined) {
    this.#outer = outer;
    if (outer?.aborted) this.#stop();
    outer?.addEventListener("abort", this.#stop);
    if (timeout !== undefined) this.restart(timeout);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(timeout: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#controller.abort();
    }, timeout);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }

  explain(error: unknown): SteadError {
    if (error instanceof SteadError) return error;
    if (this.#outer?.aborted) return new AbortedError("The request was aborted.", { cause: error });
    if (this.#isLate) return new TimeoutError("No response arrived in time.", { cause: error });
    const reason = error instanceof Error ? causeOf(error) : String(error);
    return new ConnectionError(`The connection failed: ${reason}`, { cause: error });
  }

  readonly #stop = (): void => this.#controller.abort();
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
    if (response.ok) throw new ConnectionError("The response is not JSON. Is the address that of the Stead API?");
    return undefined;
  }
}

function requestId(response: Response): string | undefined {
  return response.headers.get("x-request-id") ?? undefined;
}

function newKey(): string {
  return `stead-typescript-retry-${crypto.randomUUID()}`;
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function variable(name: string): string | undefined {
  const known = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return known.process?.env?.[name];
}
