// URL and URLSearchParams, for the URLs that functions use: http, https and other schemes with an authority.
import { TextEncoder } from "./text.js";

const encoder = new TextEncoder();
const PORTS = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21" };

function percentEncode(text, isSafe) {
  if (isSafe.all?.test(text)) return text;
  let made = "";
  for (const character of text) {
    if (isSafe(character)) made += character;
    else for (const byte of encoder.encode(character)) made += "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  }
  return made;
}

const inPath = (c) => c > " " && c < "\x7f" && !'"#<>?`{}'.includes(c);
const inQuery = (c) => c > " " && c < "\x7f" && !`"#<>'`.includes(c);
const inFragment = (c) => c > " " && c < "\x7f" && !'"<>`'.includes(c);
const inUser = (c) => /[A-Za-z0-9\-._~!$&'()*+,%]/.test(c);
const inForm = (c) => /[A-Za-z0-9*\-._]/.test(c);
// Most texts need no encoding. These contain only characters that are safe in each of the three places.
inPath.all = inQuery.all = inFragment.all = /^[\w\-.~!$&()*+,;=:@%/]*$/;

function decodeForm(text) {
  return decodePercent(text.replaceAll("+", " "));
}

function decodePercent(text) {
  if (!text.includes("%")) return text;
  const bytes = [];
  for (let index = 0; index < text.length; index++) {
    const hex = text[index] === "%" ? text.slice(index + 1, index + 3) : "";
    if (/^[0-9A-Fa-f]{2}$/.test(hex)) {
      bytes.push(parseInt(hex, 16));
      index += 2;
    } else {
      const character = String.fromCodePoint(text.codePointAt(index));
      bytes.push(...encoder.encode(character));
      index += character.length - 1;
    }
  }
  return new globalThis.TextDecoder().decode(Uint8Array.from(bytes));
}

export class URLSearchParams {
  #pairs = [];
  #onChange = () => {};

  constructor(init = "") {
    if (typeof init === "object" && init !== null && Symbol.iterator in init) {
      for (const [name, value] of init) this.#pairs.push([String(name), String(value)]);
    } else if (typeof init === "object" && init !== null) {
      for (const name of Object.keys(init)) this.#pairs.push([name, String(init[name])]);
    } else this.#read(String(init).replace(/^\?/, ""));
  }

  static follow(text, onChange) {
    const made = new URLSearchParams(text);
    made.#onChange = onChange;
    return made;
  }

  #read(text) {
    for (const part of text.split("&")) {
      if (part === "") continue;
      const at = part.indexOf("=");
      this.#pairs.push(at < 0 ? [decodeForm(part), ""] : [decodeForm(part.slice(0, at)), decodeForm(part.slice(at + 1))]);
    }
  }

  #changed() {
    this.#onChange(this.toString());
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    this.#pairs.push([String(name), String(value)]);
    this.#changed();
  }

  delete(name, value) {
    this.#pairs = this.#pairs.filter((pair) => pair[0] !== String(name) || (value !== undefined && pair[1] !== String(value)));
    this.#changed();
  }

  get(name) {
    return this.#pairs.find((pair) => pair[0] === String(name))?.[1] ?? null;
  }

  getAll(name) {
    return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]);
  }

  has(name, value) {
    return this.#pairs.some((pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value)));
  }

  set(name, value) {
    const at = this.#pairs.findIndex((pair) => pair[0] === String(name));
    if (at < 0) this.#pairs.push([String(name), String(value)]);
    else {
      this.#pairs = this.#pairs.filter((pair, index) => index <= at || pair[0] !== String(name));
      this.#pairs[at] = [String(name), String(value)];
    }
    this.#changed();
  }

  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed();
  }

  forEach(action, self) {
    for (const [name, value] of this.#pairs) action.call(self, value, name, this);
  }

  *entries() {
    for (const [name, value] of this.#pairs) yield [name, value];
  }

  *keys() {
    for (const [name] of this.#pairs) yield name;
  }

  *values() {
    for (const [, value] of this.#pairs) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    const encode = (text) => percentEncode(text.toWellFormed(), (c) => c === " " || inForm(c)).replaceAll(" ", "+");
    return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  }
}

function resolveDots(path) {
  if (!path.includes("/.") && !path.includes("%2")) return path;
  const kept = [];
  const parts = path.split("/").slice(1);
  parts.forEach((part, index) => {
    const plain = part.toLowerCase().replaceAll("%2e", ".");
    const isLast = index === parts.length - 1;
    if (plain === "..") {
      kept.pop();
      if (isLast) kept.push("");
    } else if (plain === ".") {
      if (isLast) kept.push("");
    } else kept.push(part);
  });
  return "/" + kept.join("/");
}

export class URL {
  #parts;
  #params = null;

  constructor(input, base) {
    const given = String(input);
    if (base === undefined) {
      this.#parts = parseSimple(given);
      if (this.#parts !== null) return;
    }
    const text = given.replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
    const from = base === undefined ? null : base instanceof URL ? base : new URL(base);
    this.#parts = parse(text, from);
  }

  static canParse(input, base) {
    try {
      return Boolean(new URL(input, base));
    } catch {
      return false;
    }
  }

  static parse(input, base) {
    return URL.canParse(input, base) ? new URL(input, base) : null;
  }

  get protocol() { return this.#parts.protocol; }
  get username() { return this.#parts.username; }
  get password() { return this.#parts.password; }
  get hostname() { return this.#parts.hostname; }
  get port() { return this.#parts.port; }
  get pathname() { return this.#parts.pathname; }
  get search() { return this.#parts.search === "?" ? "" : this.#parts.search; }
  get hash() { return this.#parts.hash === "#" ? "" : this.#parts.hash; }
  get searchParams() {
    this.#params ??= URLSearchParams.follow(this.#parts.search, (query) => {
      this.#parts.search = query ? `?${query}` : "";
    });
    return this.#params;
  }
  get host() { return this.hostname + (this.port && `:${this.port}`); }
  get origin() { return this.protocol in PORTS ? `${this.protocol}//${this.host}` : "null"; }

  set protocol(value) {
    const wanted = String(value).replace(/:.*$/, "").toLowerCase() + ":";
    if (wanted in PORTS === this.protocol in PORTS && /^[a-z][a-z0-9+.-]*:$/.test(wanted)) this.#parts.protocol = wanted;
    if (this.#parts.port === PORTS[this.protocol]) this.#parts.port = "";
  }
  set username(value) { this.#parts.username = percentEncode(String(value), inUser); }
  set password(value) { this.#parts.password = percentEncode(String(value), inUser); }
  set hostname(value) { this.#parts.hostname = parseHost(String(value), this.protocol) || this.#parts.hostname; }
  set host(value) {
    const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?/.exec(String(value));
    this.hostname = host;
    if (port !== undefined) this.port = port;
  }
  set port(value) {
    const number = /^\d+/.exec(String(value))?.[0] ?? "";
    if (Number(number) < 65536) this.#parts.port = number === PORTS[this.protocol] ? "" : number && String(Number(number));
  }
  set pathname(value) {
    const text = percentEncode(String(value).replaceAll("\\", "/"), inPath);
    this.#parts.pathname = resolveDots(text.startsWith("/") ? text : `/${text}`);
  }
  set search(value) {
    const text = String(value).replace(/^\?/, "");
    this.#parts.search = text && `?${percentEncode(text, inQuery)}`;
    this.#params = null;
  }
  set hash(value) {
    const text = String(value).replace(/^#/, "");
    this.#parts.hash = text && `#${percentEncode(text, inFragment)}`;
  }

  get href() {
    const { protocol, username, password, hostname, pathname, search, hash, opaque } = this.#parts;
    if (opaque) return protocol + pathname + search + hash;
    const user = username || password ? `${username}${password && `:${password}`}@` : "";
    return `${protocol}//${user}${hostname}${this.port && `:${this.port}`}${pathname}${search}${hash}`;
  }
  set href(value) {
    const other = new URL(value);
    this.#parts = other.#parts;
    this.search = this.#parts.search;
  }

  toString() { return this.href; }
  toJSON() { return this.href; }
}

// The URLs of most requests, which are written as `href` returns them.
const SIMPLE = /^(https?:)\/\/([a-z0-9.-]+)(\/[\w\-.~!$&()*+,;=:@%/]*)(\?[\w\-.~!$&()*+,;=:@%/?]*)?$/;

let lastText = null, lastFound = null;

function matchSimple(text) {
  if (text !== lastText) {
    lastText = text;
    lastFound = text.includes("/.") || text.includes("%2") ? null : SIMPLE.exec(text);
  }
  return lastFound;
}

function parseSimple(text) {
  const found = matchSimple(text);
  if (found === null) return null;
  return {
    protocol: found[1], username: "", password: "", hostname: found[2], port: "", pathname: found[3],
    search: found[4] ?? "", hash: "", opaque: false,
  };
}

// Whether `href` would be the same text.
export const isNormal = (text) => matchSimple(text) !== null;

function parse(text, base) {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text);
  if (!scheme && !base) throw new TypeError(`Invalid URL: ${text}`);
  const protocol = scheme ? scheme[1].toLowerCase() + ":" : base.protocol;
  let rest = scheme ? scheme[2] : text;
  const special = protocol in PORTS;
  const made = { protocol, username: "", password: "", hostname: "", port: "", pathname: "", search: "", hash: "", opaque: false };
  const hashAt = rest.indexOf("#");
  if (hashAt >= 0) {
    made.hash = "#" + percentEncode(rest.slice(hashAt + 1), inFragment);
    rest = rest.slice(0, hashAt);
  }
  const searchAt = rest.indexOf("?");
  if (searchAt >= 0) {
    made.search = "?" + percentEncode(rest.slice(searchAt + 1), inQuery);
    rest = rest.slice(0, searchAt);
  }
  if (special) rest = rest.replaceAll("\\", "/");
  if (rest.startsWith("//") || (scheme && special)) {
    const [, authority, path] = /^\/*([^/]*)(.*)$/s.exec(special ? rest : rest.slice(2).replace(/^/, ""));
    readAuthority(made, authority, special);
    made.pathname = path || special ? resolveDots(percentEncode(path || "/", inPath)) : "";
  } else if (scheme) {
    made.opaque = true;
    made.pathname = percentEncode(rest, (c) => c >= " " && c < "\x7f");
  } else {
    Object.assign(made, { username: base.username, password: base.password, hostname: base.hostname, port: base.port });
    if (rest === "") {
      made.pathname = base.pathname;
      if (searchAt < 0) made.search = base.search;
    } else {
      const from = rest.startsWith("/") ? rest : base.pathname.replace(/[^/]*$/, "") + rest;
      made.pathname = resolveDots(percentEncode(from, inPath));
    }
  }
  return made;
}

function readAuthority(made, authority, special) {
  const at = authority.lastIndexOf("@");
  if (at >= 0) {
    const user = authority.slice(0, at);
    const colon = user.indexOf(":");
    made.username = percentEncode(colon < 0 ? user : user.slice(0, colon), inUser);
    made.password = colon < 0 ? "" : percentEncode(user.slice(colon + 1), inUser);
  }
  const found = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority.slice(at + 1));
  const host = found && parseHost(found[1], made.protocol);
  if (!found || (special && !host) || Number(found[2] ?? 0) > 65535) throw new TypeError(`Invalid URL: ${authority}`);
  made.hostname = host;
  made.port = !found[2] || String(Number(found[2])) === PORTS[made.protocol] ? "" : String(Number(found[2]));
}

function parseHost(text, protocol) {
  if (text.startsWith("[")) return /^\[[0-9A-Fa-f:.]+\]$/.test(text) ? text.toLowerCase() : "";
  if (!(protocol in PORTS)) return percentEncode(text, inPath);
  const host = decodePercent(text).toLowerCase();
  if (/[\x00-\x20#%/:<>?@[\\\]^|\x7f]/.test(host) || [...host].some((c) => c > "\x7f")) {
    throw new TypeError(`Invalid URL: the host ${text} cannot be used; write international names in Punycode`);
  }
  return host;
}
