// Headers, Request, Response and fetch.
import { ask } from "./host.js";
import { Promise } from "./tasks.js";
import { ReadableStream, readAll } from "./streams.js";
import { TextDecoder, TextEncoder, base64ToBytes, bytesToBase64, toBytes } from "./text.js";
import { URL, URLSearchParams, isNormal } from "./url.js";

const encoder = new TextEncoder(), decoder = new TextDecoder();
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const NO_BODY = [204, 205, 304];
const METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];

export class Headers {
  #pairs = [];

  constructor(init) {
    if (init === undefined || init === null) return;
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const pair of pairs) {
      if (Array.isArray(pair) && pair.length !== 2) throw new TypeError("a header is a pair of a name and a value");
      const [name, value] = pair;
      this.append(name, value);
    }
  }

  #name(name) {
    if (!NAME.test(name)) throw new TypeError(`${name} is not the name of a header`);
    return String(name).toLowerCase();
  }

  #value(value) {
    const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
    if (/[\0\n\r]/.test(text)) throw new TypeError("the value of a header contains a line break");
    return text;
  }

  append(name, value) {
    this.#pairs.push([this.#name(name), this.#value(value)]);
  }

  set(name, value) {
    const wanted = this.#name(name), text = this.#value(value);
    const at = this.#pairs.findIndex((pair) => pair[0] === wanted);
    this.#pairs = this.#pairs.filter((pair) => pair[0] !== wanted);
    this.#pairs.splice(at < 0 ? this.#pairs.length : at, 0, [wanted, text]);
  }

  delete(name) {
    const wanted = this.#name(name);
    this.#pairs = this.#pairs.filter((pair) => pair[0] !== wanted);
  }

  get(name) {
    const wanted = this.#name(name);
    let found = null;
    for (const pair of this.#pairs) if (pair[0] === wanted) found = found === null ? pair[1] : `${found}, ${pair[1]}`;
    return found;
  }

  has(name) {
    return this.get(name) !== null;
  }

  getSetCookie() {
    return this.#pairs.filter((pair) => pair[0] === "set-cookie").map((pair) => pair[1]);
  }

  raw() {
    return this.#pairs;
  }

  // Headers of a request, which the platform has checked: names in lower case, values without line breaks.
  static adopt(pairs) {
    const made = new Headers();
    made.#pairs = pairs;
    return made;
  }

  // The type of a body, unless the headers contain one. The first name is in lower case, as all are here.
  setDefaultType(type) {
    for (const pair of this.#pairs) if (pair[0] === "content-type") return;
    this.#pairs.push(["content-type", type]);
  }

  forEach(action, self) {
    for (const [name, value] of this) action.call(self, value, name, this);
  }

  *entries() {
    for (const name of [...new Set(this.#pairs.map((pair) => pair[0]))].sort()) {
      if (name === "set-cookie") for (const value of this.getSetCookie()) yield [name, value];
      else yield [name, this.get(name)];
    }
  }

  *keys() {
    for (const [name] of this) yield name;
  }

  *values() {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }
}

// Text stays text, because converting it to bytes and back is slow.
function readBody(init) {
  if (init === undefined || init === null) return [null, null];
  if (typeof init === "string") return [init, "text/plain;charset=UTF-8"];
  if (init instanceof URLSearchParams) return [init.toString(), "application/x-www-form-urlencoded;charset=UTF-8"];
  if (init instanceof ReadableStream) return [init, null];
  if (init instanceof ArrayBuffer || ArrayBuffer.isView(init)) return [toBytes(init).slice(), null];
  return [String(init), "text/plain;charset=UTF-8"];
}

class Body {
  content = null;
  #used = false;
  #stream = null;

  get bodyUsed() {
    return this.#used;
  }

  get body() {
    if (this.content === null) return null;
    if (this.content instanceof ReadableStream) return this.content;
    this.#stream ??= ReadableStream.from([typeof this.content === "string" ? encoder.encode(this.content) : this.content]);
    return this.#stream;
  }

  #take() {
    if (this.#used || this.#stream?.locked) return Promise.reject(new TypeError("the body was read already"));
    this.#used = this.content !== null;
    return collect(this.content);
  }

  text() {
    return this.#take().then((content) => (typeof content === "string" ? content : decoder.decode(content)));
  }

  json() {
    return this.text().then(JSON.parse);
  }

  bytes() {
    return this.#take().then((content) => (typeof content === "string" ? encoder.encode(content) : content.slice()));
  }

  arrayBuffer() {
    return this.bytes().then((bytes) => bytes.buffer);
  }

  formData() {
    return this.text().then((text) => {
      if (!(this.headers.get("content-type") ?? "").startsWith("application/x-www-form-urlencoded")) {
        throw new TypeError("only forms of the type application/x-www-form-urlencoded can be read");
      }
      return new URLSearchParams(text);
    });
  }
}

// The content of a body as text or bytes.
export function collect(content) {
  if (!(content instanceof ReadableStream)) return Promise.resolve(content ?? "");
  return readAll(content).then((chunks) => {
    const parts = chunks.map((chunk) => (typeof chunk === "string" ? encoder.encode(chunk) : toBytes(chunk)));
    const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  });
}

const INCOMING = Symbol("a request of a visitor");

export class Request extends Body {
  #signal;

  constructor(input, init = {}) {
    super();
    if (input === INCOMING) {
      this.url = isNormal(init.url) ? init.url : new URL(init.url).href;
      this.method = init.method;
      this.headers = Headers.adopt(init.headers);
      this.redirect = "follow";
      return;
    }
    const from = input instanceof Request ? input : null;
    this.url = from ? from.url : new URL(String(input)).href;
    const method = String(init.method ?? from?.method ?? "GET");
    this.method = METHODS.includes(method.toUpperCase()) ? method.toUpperCase() : method;
    this.headers = new Headers(init.headers ?? from?.headers);
    this.redirect = init.redirect ?? from?.redirect ?? "follow";
    this.#signal = init.signal ?? from?.signal;
    const [content, type] = readBody(init.body);
    this.content = init.body === undefined || init.body === null ? from?.content ?? null : content;
    if (this.content !== null && ["GET", "HEAD"].includes(this.method)) {
      throw new TypeError(`a request with the method ${this.method} has no body`);
    }
    if (type) this.headers.setDefaultType(type);
  }

  // A request of a visitor, as the platform describes it. Its content may be text or bytes.
  static incoming(description, content) {
    const made = new Request(INCOMING, description);
    made.content = content;
    return made;
  }

  get signal() {
    this.#signal ??= new globalThis.AbortController().signal;
    return this.#signal;
  }

  clone() {
    return new Request(this);
  }
}

export class Response extends Body {
  constructor(body = null, init = {}) {
    super();
    const status = init.status ?? 200;
    if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError(`${status} is not a status`);
    this.status = status;
    this.statusText = String(init.statusText ?? "");
    this.headers = new Headers(init.headers);
    this.url = "";
    this.redirected = false;
    this.type = "default";
    const [content, type] = readBody(body);
    if (content !== null && NO_BODY.includes(status)) throw new TypeError(`a response with the status ${status} has no body`);
    this.content = content;
    if (type) this.headers.setDefaultType(type);
  }

  get ok() {
    return this.status >= 200 && this.status < 300;
  }

  clone() {
    if (this.bodyUsed) throw new TypeError("the body was read already");
    const made = new Response(null, { status: this.status, statusText: this.statusText, headers: this.headers });
    made.content = this.content;
    made.url = this.url;
    return made;
  }

  static json(value, init = {}) {
    const made = new Response(null, init);
    if (NO_BODY.includes(made.status)) throw new TypeError(`a response with the status ${made.status} has no body`);
    made.content = JSON.stringify(value) ?? null;
    made.headers.setDefaultType("application/json");
    return made;
  }

  static redirect(url, status = 302) {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`${status} does not redirect`);
    return new Response(null, { status, headers: { location: new URL(String(url)).href } });
  }

  static error() {
    const made = new Response();
    made.type = "error";
    return made;
  }
}

export function packBody(content) {
  return typeof content === "string" ? { body: content } : { body_base64: bytesToBase64(content) };
}

export function unpackResponse(answer, url) {
  const empty = [204, 205, 304].includes(answer.status);
  const made = new Response(empty ? null : "", { status: answer.status, headers: answer.headers });
  made.content = empty ? null : answer.body_base64 !== undefined ? base64ToBytes(answer.body_base64) : answer.body ?? "";
  if (!answer.headers.some(([name]) => name === "content-type")) made.headers.delete("content-type");
  made.url = url;
  return made;
}

// Sends a request through `operation`. Redirects are followed only if the caller can reach the new address too.
export function send(operation, more, input, init, redirects = 0) {
  return new Promise((resolve) => resolve(new Request(input, init))).then((request) => {
    request.signal.throwIfAborted();
    return collect(request.content).then((content) => {
      const answer = ask(operation, {
        ...more, method: request.method, url: request.url, headers: request.headers.raw(), ...packBody(content),
      });
      const response = unpackResponse(answer, request.url);
      const location = response.headers.get("location");
      if (![301, 302, 303, 307, 308].includes(response.status) || !location || request.redirect === "manual") return response;
      if (request.redirect === "error" || redirects >= 5) throw new TypeError("the request was redirected");
      const target = new URL(location, request.url);
      const toGet = response.status === 303 || (response.status < 303 && request.method === "POST");
      const headers = new Headers(request.headers);
      if (target.origin !== new URL(request.url).origin) for (const name of ["authorization", "cookie"]) headers.delete(name);
      if (toGet) headers.delete("content-type");
      const next = { method: toGet ? "GET" : request.method, headers, body: toGet ? null : content || null, signal: request.signal };
      return send(operation, more, target.href, next, redirects + 1).then((last) => {
        last.redirected = true;
        return last;
      });
    });
  });
}

export const fetch = (input, init) => send("fetch", {}, input, init);
