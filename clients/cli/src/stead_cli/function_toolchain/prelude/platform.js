// Everything else that functions find in the global scope.
import { DOMException } from "./errors.js";
import { ask } from "./host.js";
import { Promise } from "./tasks.js";
import { TextEncoder, base64ToBytes, bytesToBase64, toBytes } from "./text.js";

function show(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

function logAs(level) {
  return (...values) => ask("log", { text: `${level}: ${values.map(show).join(" ")}` });
}

export const console = Object.fromEntries(["debug", "info", "log", "warn", "error", "trace"].map((level) => [level, logAs(level)]));

// Math.random is the same in every instance, because all of them begin with the same memory.
let state = null;
export function random() {
  if (state === null) {
    const bytes = base64ToBytes(ask("random", { bytes: 16 }));
    state = new Uint32Array(bytes.buffer);
  }
  let [a, b, c, d] = state;
  const mixed = a ^ (a << 11);
  const next = d ^ (d >>> 19) ^ mixed ^ (mixed >>> 8);
  state.set([b, c, d, next]);
  return ((next >>> 5) * 0x4000000 + (state[2] >>> 6)) / 0x20000000000000;
}

export class Event {
  constructor(type, init = {}) {
    this.type = String(type);
    this.cancelable = Boolean(init.cancelable);
    this.defaultPrevented = false;
    this.target = null;
  }

  preventDefault() {
    this.defaultPrevented = this.cancelable;
  }
}

export class EventTarget {
  #listeners = [];

  addEventListener(type, action, options = {}) {
    if (!this.#listeners.some((each) => each.type === type && each.action === action)) {
      this.#listeners.push({ type, action, once: Boolean(options?.once) });
    }
  }

  removeEventListener(type, action) {
    this.#listeners = this.#listeners.filter((each) => each.type !== type || each.action !== action);
  }

  dispatchEvent(event) {
    event.target = this;
    for (const { type, action, once } of [...this.#listeners]) {
      if (type !== event.type) continue;
      if (once) this.removeEventListener(type, action);
      if (typeof action === "function") action.call(this, event);
      else action.handleEvent(event);
    }
    this[`on${event.type}`]?.(event);
    return !event.defaultPrevented;
  }
}

export class AbortSignal extends EventTarget {
  aborted = false;
  reason = undefined;
  onabort = null;

  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }

  abortWith(reason = new DOMException("the operation was aborted", "AbortError")) {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.dispatchEvent(new Event("abort"));
  }

  static abort(reason) {
    const signal = new AbortSignal();
    signal.abortWith(reason);
    return signal;
  }

  static any(signals) {
    const signal = new AbortSignal();
    for (const each of signals) {
      if (each.aborted) {
        signal.abortWith(each.reason);
        break;
      }
      each.addEventListener("abort", () => signal.abortWith(each.reason));
    }
    return signal;
  }

  static timeout(milliseconds) {
    const signal = new AbortSignal();
    globalThis.setTimeout(() => signal.abortWith(new DOMException("the time is over", "TimeoutError")), milliseconds);
    return signal;
  }
}

export class AbortController {
  signal = new AbortSignal();

  abort(reason) {
    this.signal.abortWith(reason);
  }
}

class CryptoKey {
  #bytes;

  constructor(bytes, algorithm, usages, extractable) {
    this.#bytes = bytes;
    Object.assign(this, { type: "secret", algorithm, usages, extractable });
  }

  static bytesOf(key) {
    return key.#bytes;
  }
}

const nameOf = (algorithm) => String(algorithm?.name ?? algorithm).toUpperCase();
const attempt = (action) => new Promise((resolve) => resolve(action()));
const HASHES = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];

function requireHash(name) {
  if (!HASHES.includes(name)) throw new DOMException(`${name} is not supported`, "NotSupportedError");
  return name;
}

function hmac(key, data) {
  const answer = ask("hmac", {
    algorithm: key.algorithm.hash.name, key: bytesToBase64(CryptoKey.bytesOf(key)), data: bytesToBase64(toBytes(data)),
  });
  return base64ToBytes(answer);
}

function requireUsage(key, usage) {
  if (!key.usages.includes(usage)) throw new DOMException(`the key is not for ${usage}`, "InvalidAccessError");
}

const subtle = {
  digest: (algorithm, data) => attempt(() => {
    const answer = ask("digest", { algorithm: requireHash(nameOf(algorithm)), data: bytesToBase64(toBytes(data)) });
    return base64ToBytes(answer).buffer;
  }),
  importKey: (format, data, algorithm, extractable, usages) => attempt(() => {
    if (format !== "raw" || nameOf(algorithm) !== "HMAC") {
      throw new DOMException("only raw keys of HMAC are supported", "NotSupportedError");
    }
    const hash = { name: requireHash(nameOf(algorithm.hash)) };
    return new CryptoKey(toBytes(data).slice(), { name: "HMAC", hash }, [...usages], extractable);
  }),
  sign: (_, key, data) => attempt(() => {
    requireUsage(key, "sign");
    return hmac(key, data).buffer;
  }),
  verify: (_, key, signature, data) => attempt(() => {
    requireUsage(key, "verify");
    const expected = hmac(key, data), given = toBytes(signature);
    let different = expected.length ^ given.length;
    for (let index = 0; index < expected.length; index++) different |= expected[index] ^ given[index];
    return different === 0;
  }),
};

export const crypto = {
  subtle,
  getRandomValues(array) {
    if (array.byteLength > 65536) throw new DOMException("at most 65536 bytes at once", "QuotaExceededError");
    toBytes(array).set(base64ToBytes(ask("random", { bytes: array.byteLength })));
    return array;
  },
  randomUUID() {
    const bytes = this.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  },
};

let origin = null;
export const performance = {
  now() {
    const now = ask("time").monotonic;
    origin ??= now;
    return now - origin;
  },
};

export function structuredClone(value, seen = new Map()) {
  if (typeof value === "function" || typeof value === "symbol") throw new DOMException("it cannot be cloned", "DataCloneError");
  if (value === null || typeof value !== "object") return value;
  if (seen.has(value)) return seen.get(value);
  const remember = (made) => {
    seen.set(value, made);
    return made;
  };
  if (value instanceof Date) return remember(new Date(value));
  if (value instanceof RegExp) return remember(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return remember(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    const buffer = structuredClone(value.buffer, seen);
    return remember(new value.constructor(buffer, value.byteOffset, value.length ?? value.byteLength));
  }
  if (value instanceof Map) {
    const made = remember(new Map());
    for (const [key, item] of value) made.set(structuredClone(key, seen), structuredClone(item, seen));
    return made;
  }
  if (value instanceof Set) {
    const made = remember(new Set());
    for (const item of value) made.add(structuredClone(item, seen));
    return made;
  }
  if (value instanceof Error) {
    const kind = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[value.name] ?? Error;
    return remember(new kind(value.message));
  }
  const made = remember(Array.isArray(value) ? [] : {});
  for (const key of Object.keys(value)) made[key] = structuredClone(value[key], seen);
  return made;
}

export { DOMException, TextEncoder };
