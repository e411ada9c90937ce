// What a function finds in `env`: its variables and secrets as texts, its bindings as objects.
import { ask } from "./host.js";
import { send } from "./http.js";
import { Promise } from "./tasks.js";
import { base64ToBytes, bytesToBase64, TextDecoder, toBytes } from "./text.js";

const decoder = new TextDecoder();
const attempt = (action) => new Promise((resolve) => resolve(action()));

function readValue(found, type) {
  const bytes = () => base64ToBytes(found.value_base64);
  const text = () => (found.value_base64 === undefined ? found.value : decoder.decode(bytes()));
  if (type === "json") return JSON.parse(text());
  if (type === "bytes") return found.value_base64 === undefined ? new globalThis.TextEncoder().encode(found.value) : bytes();
  return text();
}

const packValue = (value) => (typeof value === "string" ? { value } : { value_base64: bytesToBase64(toBytes(value)) });

class KeyValueStore {
  constructor(binding) {
    this.ask = (action, argument) => attempt(() => ask(`kv.${action}`, { binding, ...argument }));
  }

  get(key, { type = "text" } = {}) {
    return this.getWithRevision(key, { type }).then((found) => (found === null ? null : found.value));
  }

  getWithRevision(key, { type = "text" } = {}) {
    return this.ask("get", { key }).then((found) => (found === null ? null : { value: readValue(found, type), revision: found.revision }));
  }

  // With `revision`, the value is stored only if that is still the revision of the key; 0 means that there is none.
  put(key, value, { ttl, revision } = {}) {
    return this.ask("put", { key, ...packValue(value), ttl, revision });
  }

  delete(key, { revision } = {}) {
    return this.ask("delete", { key, revision });
  }

  list({ prefix = "", limit = 100, cursor } = {}) {
    return this.ask("list", { prefix, limit, cursor });
  }
}

class Coordination {
  constructor(binding) {
    this.ask = (action, argument) => attempt(() => ask(`coord.${action}`, { binding, ...argument }));
  }

  // Returns {token}, which grows with every owner, or null if another one has the lock.
  lock(name, { ttl = 10 } = {}) {
    return this.ask("lock", { name, ttl });
  }

  unlock(name, token) {
    return this.ask("unlock", { name, token });
  }

  increment(name, by = 1) {
    return this.ask("increment", { name, by });
  }

  get(name) {
    return this.ask("get", { name });
  }
}

class Service {
  constructor(binding) {
    this.fetch = (input, init) => {
      const url = typeof input === "string" && input.startsWith("/") ? `http://function${input}` : input;
      return send("service.call", { binding }, url, { redirect: "manual", ...init });
    };
  }
}

const KINDS = { kv: KeyValueStore, coord: Coordination, service: Service };

export function makeEnvironment() {
  const { variables, bindings } = ask("env");
  const made = { ...variables };
  for (const [name, kind] of Object.entries(bindings)) {
    if (kind in KINDS) made[name] = new KINDS[kind](name);
    else if (kind === "fetch") made[name] = { fetch: globalThis.fetch };
  }
  return Object.freeze(made);
}
