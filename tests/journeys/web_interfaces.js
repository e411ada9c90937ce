// A function that checks the interfaces of the web platform in its own runtime, as the web platform tests do.
const same = (actual, expected) => {
  const [a, b] = [actual, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${a} is not ${b}`);
};
const throws = (name, action) => {
  try {
    action();
  } catch (error) {
    return same(error.name, name);
  }
  throw new Error(`${name} is not thrown`);
};
const rejects = async (name, promise) => {
  try {
    await promise;
  } catch (error) {
    return same(error.name, name);
  }
  throw new Error(`${name} is not the reason of a rejection`);
};
const text = (bytes) => new TextDecoder().decode(bytes);
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const parts = ({ protocol, username, password, hostname, port, pathname, search, hash }) =>
  [protocol, username, password, hostname, port, pathname, search, hash];
const readAll = async (stream) => {
  const found = [];
  for await (const chunk of stream) found.push(chunk);
  return found;
};

const URLS = [
  ["http://a", undefined, "http://a/"],
  ["HTTP://EXAMPLE.com:80/", undefined, "http://example.com/"],
  ["https://example.com:443/a", undefined, "https://example.com/a"],
  ["https://example.com:8443/a", undefined, "https://example.com:8443/a"],
  ["/b", "https://example.com/a/c?d#e", "https://example.com/b"],
  ["b", "https://example.com/a/c?d#e", "https://example.com/a/b"],
  ["?x", "https://example.com/a/c?d#e", "https://example.com/a/c?x"],
  ["#x", "https://example.com/a/c?d#e", "https://example.com/a/c?d#x"],
  ["", "https://example.com/a/c?d#e", "https://example.com/a/c?d"],
  ["//other.example/p", "https://example.com/", "https://other.example/p"],
  ["../../x/./y/", "https://example.com/a/b/c", "https://example.com/x/y/"],
  ["http://a/%2e%2E/b/%2e", undefined, "http://a/b/"],
  ["http://a\\b\\c", undefined, "http://a/b/c"],
  ["  http://a/\tb\n  ", undefined, "http://a/b"],
  ["http://a/ü b<>", undefined, "http://a/%C3%BC%20b%3C%3E"],
  ["http://a/?q=ü b'", undefined, "http://a/?q=%C3%BC%20b%27"],
  ["http://a/#ü `", undefined, "http://a/#%C3%BC%20%60"],
  ["http://u:p@a/", undefined, "http://u:p@a/"],
  ["http://[::1]:8080/", undefined, "http://[::1]:8080/"],
  ["mailto:someone@example.com", undefined, "mailto:someone@example.com"],
];
const NO_URLS = ["", "a", "/a", "http://", "http://a b/", "http://a:99999/", "http://[::1/", "http://a:b/"];

const checks = {
  "URL: hrefs"() {
    for (const [input, base, expected] of URLS) same(new URL(input, base).href, expected);
  },
  "URL: what is none"() {
    for (const input of NO_URLS) {
      throws("TypeError", () => new URL(input));
      same([URL.canParse(input), URL.parse(input)], [false, null]);
    }
  },
  "URL: parts"() {
    const url = new URL("https://me:pw@example.com:8443/a/b?c=d&e#f");
    same(parts(url), ["https:", "me", "pw", "example.com", "8443", "/a/b", "?c=d&e", "#f"]);
    same([url.host, url.origin, String(url), JSON.stringify(url)],
      ["example.com:8443", "https://example.com:8443", url.href, `"${url.href}"`]);
  },
  "URL: setters"() {
    const url = new URL("http://example.com/a?b#c");
    Object.assign(url, { protocol: "https", hostname: "EXAMPLE.org", port: "443", pathname: "x/../y z", search: "", hash: "h" });
    same(url.href, "https://example.org/y%20z#h");
    url.host = "a.example:81";
    url.port = "99999";
    same(url.href, "https://a.example:81/y%20z#h");
  },
  "URL: searchParams follow the URL and change it"() {
    const url = new URL("http://a/?b=1");
    url.searchParams.append("c", "ü &");
    same(url.href, "http://a/?b=1&c=%C3%BC+%26");
    url.search = "?d=2";
    same([...url.searchParams], [["d", "2"]]);
    url.searchParams.delete("d");
    same(url.href, "http://a/");
  },
  "URLSearchParams: parsing"() {
    same([...new URLSearchParams("?a=b+c&a=%C3%BC&d&=e&&%zz=%")], [["a", "b c"], ["a", "ü"], ["d", ""], ["", "e"], ["%zz", "%"]]);
    same(String(new URLSearchParams({ a: "1", b: "x y" })), "a=1&b=x+y");
    same(String(new URLSearchParams([["a", "1"], ["a", "~*"]])), "a=1&a=%7E*");
  },
  "URLSearchParams: changing"() {
    const params = new URLSearchParams("b=2&a=1&b=3");
    same([params.get("b"), params.getAll("b"), params.get("x"), params.has("b", "3"), params.size], ["2", ["2", "3"], null, true, 3]);
    params.set("b", "4");
    params.sort();
    same(String(params), "a=1&b=4");
    params.append("a", "5");
    params.delete("a", "1");
    same([String(params), [...params.keys()], [...params.values()]], ["b=4&a=5", ["b", "a"], ["4", "5"]]);
  },
  "Headers: names are case-insensitive, values are combined"() {
    const headers = new Headers({ "X-A": " 1 ", "Content-Type": "text/plain" });
    headers.append("x-a", "2");
    same([headers.get("X-a"), headers.has("content-TYPE"), headers.get("missing")], ["1, 2", true, null]);
    same([...headers], [["content-type", "text/plain"], ["x-a", "1, 2"]]);
    headers.set("x-a", "3");
    headers.delete("content-type");
    same([...headers.entries()], [["x-a", "3"]]);
  },
  "Headers: cookies are never combined"() {
    const headers = new Headers([["set-cookie", "a=1"], ["Set-Cookie", "b=2"]]);
    same([headers.getSetCookie(), [...headers.values()]], [["a=1", "b=2"], ["a=1", "b=2"]]);
  },
  "Headers: what cannot be sent"() {
    for (const [name, value] of [["a b", "1"], ["", "1"], ["a", "1\r\nb: 2"], ["a", "\0"], ["ü", "1"]]) {
      throws("TypeError", () => new Headers([[name, value]]));
    }
    throws("TypeError", () => new Headers([["a"]]));
  },
  async "Request: defaults"() {
    const request = new Request("https://example.com/a b");
    same([request.method, request.url, request.body, request.bodyUsed, request.redirect],
      ["GET", "https://example.com/a%20b", null, false, "follow"]);
    same([await request.text(), request.bodyUsed], ["", false]);
  },
  async "Request: a body is read once"() {
    const request = new Request("https://example.com/", { method: "post", body: '{"a":1}' });
    same([request.method, request.headers.get("content-type")], ["POST", "text/plain;charset=UTF-8"]);
    same([await request.json(), request.bodyUsed], [{ a: 1 }, true]);
    await rejects("TypeError", request.text());
  },
  "Request: what is none"() {
    throws("TypeError", () => new Request("/relative"));
    throws("TypeError", () => new Request("https://a/", { body: "x" }));
  },
  async "Request: from another one"() {
    const first = new Request("https://example.com/", { method: "PUT", body: "x", headers: { a: "1" } });
    const second = new Request(first, { headers: { b: "2" } });
    same([second.method, [...second.headers.keys()].includes("a"), await second.text()], ["PUT", false, "x"]);
  },
  async "Request: forms"() {
    const request = new Request("https://example.com/", { method: "POST", body: new URLSearchParams({ a: "x y" }) });
    same(request.headers.get("content-type"), "application/x-www-form-urlencoded;charset=UTF-8");
    same((await request.formData()).get("a"), "x y");
  },
  async "Response: defaults"() {
    const response = new Response();
    same([response.status, response.ok, response.statusText, response.body, await response.text()], [200, true, "", null, ""]);
  },
  async "Response: bytes"() {
    const bytes = Uint8Array.from([0, 255, 128]);
    const response = new Response(bytes.buffer, { status: 206 });
    bytes[0] = 9;
    same([...new Uint8Array(await response.arrayBuffer())], [0, 255, 128]);
    same(response.headers.get("content-type"), null);
    same([...(await new Response(Uint8Array.from([1, 2]).subarray(1)).bytes())], [2]);
  },
  async "Response: json, redirect and error"() {
    const response = Response.json({ a: [1] }, { status: 201 });
    same([response.status, response.headers.get("content-type"), await response.json()], [201, "application/json", { a: [1] }]);
    const moved = Response.redirect("https://example.com/x", 301);
    same([moved.status, moved.headers.get("location")], [301, "https://example.com/x"]);
    throws("RangeError", () => Response.redirect("https://example.com/", 200));
    same(Response.error().type, "error");
  },
  "Response: what is none"() {
    for (const status of [0, 199, 600, 1.5]) throws("RangeError", () => new Response(null, { status }));
    for (const status of [204, 205, 304]) throws("TypeError", () => new Response("x", { status }));
  },
  async "Response: clone"() {
    const response = new Response("x", { headers: { a: "1" } });
    const copy = response.clone();
    same([await response.text(), await copy.text(), copy.headers.get("a")], ["x", "x", "1"]);
    throws("TypeError", () => response.clone());
    await rejects("SyntaxError", new Response("{").json());
  },
  async "fetch: only what is bound"() {
    await rejects("PlatformError", fetch("https://example.com/"));
    await rejects("TypeError", fetch("no url"));
    await rejects("AbortError", fetch("https://example.com/", { signal: AbortSignal.abort() }));
  },
  "TextEncoder"() {
    same([...new TextEncoder().encode("aü€😀\ud800")], [97, 195, 188, 226, 130, 172, 240, 159, 152, 128, 239, 191, 189]);
    const target = new Uint8Array(4);
    same([new TextEncoder().encodeInto("a€😀", target), [...target]], [{ read: 2, written: 4 }, [97, 226, 130, 172]]);
    same([new TextEncoder().encoding, [...new TextEncoder().encode()]], ["utf-8", []]);
  },
  "TextDecoder: what is not valid is replaced"() {
    for (const [bytes, expected] of [
      [[0xc0, 0x80], "\ufffd\ufffd"], [[0xe2, 0x82], "\ufffd"], [[0xed, 0xa0, 0x80], "\ufffd\ufffd\ufffd"],
      [[0xf4, 0x90, 0x80, 0x80], "\ufffd\ufffd\ufffd\ufffd"], [[0xe2, 0x82, 0x41], "\ufffdA"], [[0xff], "\ufffd"],
    ]) {
      same(text(Uint8Array.from(bytes)), expected);
      throws("TypeError", () => new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes)));
    }
  },
  "TextDecoder: byte order mark and kinds of input"() {
    const marked = Uint8Array.from([0xef, 0xbb, 0xbf, 65]);
    same([text(marked), new TextDecoder("utf8", { ignoreBOM: true }).decode(marked)], ["A", "\ufeffA"]);
    same([text(marked.buffer.slice(3)), text(new DataView(marked.buffer, 3)), new TextDecoder().decode()], ["A", "A", ""]);
    throws("RangeError", () => new TextDecoder("utf-16"));
  },
  "atob and btoa"() {
    for (const [plain, encoded] of [["", ""], ["a", "YQ=="], ["ab", "YWI="], ["abc", "YWJj"], ["\0\xff", "AP8="]]) {
      same([btoa(plain), atob(encoded)], [encoded, plain]);
    }
    same([atob(" Y Q\n== "), atob("YQ")], ["a", "a"]);
    for (const wrong of ["Y", "YQ=", "YQ===", "Y*==", "ü"]) throws("InvalidCharacterError", () => atob(wrong));
    throws("InvalidCharacterError", () => btoa("€"));
  },
  "structuredClone"() {
    const value = { a: [1, , 3], d: new Date(5), m: new Map([["k", new Set([1])]]), r: /x/g, u: undefined, n: 10n };
    value.self = value;
    const copy = structuredClone(value);
    same([copy !== value, copy.self === copy, copy.d.getTime(), copy.m.get("k").has(1), copy.r.flags, copy.n === 10n, "u" in copy],
      [true, true, 5, true, "g", true, true]);
    const bytes = Uint8Array.from([1, 2, 3]).subarray(1);
    const cloned = structuredClone(bytes);
    bytes[0] = 9;
    same([...cloned], [2, 3]);
    same([structuredClone(new RangeError("r")).name, structuredClone(null)], ["RangeError", null]);
    for (const wrong of [() => {}, Symbol("s"), { f() {} }]) throws("DataCloneError", () => structuredClone(wrong));
  },
  async "timers run in order, after microtasks"() {
    const seen = [];
    const done = new Promise((resolve) => {
      // Much later, because time passes between the two calls.
      setTimeout(() => { seen.push("later"); resolve(); }, 1000);
      setTimeout((value) => seen.push(value), 5, "sooner");
      const cancelled = setTimeout(() => seen.push("never"), 1);
      clearTimeout(cancelled);
      clearTimeout(12345);
      queueMicrotask(() => seen.push("task"));
      Promise.resolve().then(() => seen.push("promise"));
      seen.push("now");
    });
    await done;
    same(seen, ["now", "task", "promise", "sooner", "later"]);
    throws("TypeError", () => queueMicrotask("no function"));
  },
  async "setInterval repeats until it is cleared"() {
    let count = 0;
    await new Promise((resolve) => {
      const id = setInterval(() => { if (++count === 3) { clearInterval(id); resolve(); } }, 2);
    });
    same(count, 3);
  },
  async "promises: combinations"() {
    const later = (value) => new Promise((resolve) => setTimeout(resolve, 2, value));
    same(await Promise.all([1, later(2), Promise.resolve(3)]), [1, 2, 3]);
    same(await Promise.race([later(1), 2]), 2);
    same(await Promise.any([Promise.reject(new Error("x")), later(1)]), 1);
    await rejects("AggregateError", Promise.any([Promise.reject(1)]));
    same((await Promise.allSettled([1, Promise.reject(2)])).map((each) => each.status), ["fulfilled", "rejected"]);
    same([await Promise.all([]), await Promise.resolve(1).finally(() => 2)], [[], 1]);
    const { promise, resolve } = Promise.withResolvers();
    resolve(later("inner"));
    same(await promise, "inner");
  },
  async "promises: errors pass through async functions"() {
    const fail = async () => { await null; throw new RangeError("x"); };
    await rejects("RangeError", fail());
    await rejects("RangeError", Promise.resolve().then(fail).then(() => "not called"));
    const made = Promise.resolve();
    const own = made.then(() => own);
    await rejects("TypeError", own);
  },
  async "async generators and for await"() {
    async function* count() {
      for (let number = 0; number < 3; number++) yield await Promise.resolve(number);
    }
    const seen = [];
    for await (const number of count()) seen.push(number);
    for await (const number of [Promise.resolve(3), 4]) seen.push(number);
    same(seen, [0, 1, 2, 3, 4]);
  },
  "AbortController"() {
    const controller = new AbortController(), seen = [];
    controller.signal.addEventListener("abort", (event) => seen.push(event.type), { once: true });
    controller.signal.onabort = () => seen.push("onabort");
    controller.abort();
    controller.abort("again");
    same([controller.signal.aborted, controller.signal.reason.name, seen.sort()], [true, "AbortError", ["abort", "onabort"]]);
    throws("AbortError", () => controller.signal.throwIfAborted());
    same(AbortSignal.abort("why").reason, "why");
  },
  async "AbortSignal: timeout and any"() {
    const signal = AbortSignal.timeout(1), controller = new AbortController();
    const either = AbortSignal.any([signal, controller.signal]);
    await new Promise((resolve) => either.addEventListener("abort", resolve));
    same([signal.reason.name, either.reason.name, controller.signal.aborted], ["TimeoutError", "TimeoutError", false]);
    same(AbortSignal.any([controller.signal, AbortSignal.abort(1)]).reason, 1);
  },
  "EventTarget"() {
    const target = new EventTarget(), seen = [];
    const listen = (event) => { seen.push(event.type); event.preventDefault(); };
    target.addEventListener("a", listen);
    target.addEventListener("a", listen);
    same([target.dispatchEvent(new Event("a", { cancelable: true })), target.dispatchEvent(new Event("b"))], [false, true]);
    target.removeEventListener("a", listen);
    target.dispatchEvent(new Event("a"));
    same(seen, ["a"]);
  },
  "DOMException"() {
    const error = new DOMException("text", "NotFoundError");
    same([error instanceof Error, error.name, error.message, new DOMException().name], [true, "NotFoundError", "text", "Error"]);
  },
  "crypto: random numbers"() {
    const [first, second] = [crypto.getRandomValues(new Uint32Array(8)), crypto.getRandomValues(new Uint32Array(8))];
    if (String(first) === String(second)) throw new Error("the numbers are repeated");
    if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())) throw new Error("no UUID");
    throws("QuotaExceededError", () => crypto.getRandomValues(new Uint8Array(65537)));
  },
  async "crypto: digests"() {
    const empty = new Uint8Array();
    for (const [name, expected] of [
      ["SHA-1", "da39a3ee5e6b4b0d3255bfef95601890afd80709"],
      [{ name: "sha-256" }, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ]) same(hex(await crypto.subtle.digest(name, empty)), expected);
    same((await crypto.subtle.digest("SHA-512", empty)).byteLength, 64);
    await rejects("NotSupportedError", crypto.subtle.digest("MD5", empty));
  },
  async "crypto: HMAC"() {
    const data = new TextEncoder().encode("The quick brown fox jumps over the lazy dog");
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", new TextEncoder().encode("key"), algorithm, false, ["sign", "verify"]);
    const signature = await crypto.subtle.sign("HMAC", key, data);
    same(hex(signature), "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
    same([await crypto.subtle.verify("HMAC", key, signature, data), await crypto.subtle.verify("HMAC", key, signature.slice(1), data)], [true, false]);
    const other = await crypto.subtle.importKey("raw", data, algorithm, false, ["verify"]);
    await rejects("InvalidAccessError", crypto.subtle.sign("HMAC", other, data));
    await rejects("NotSupportedError", crypto.subtle.importKey("jwk", {}, algorithm, false, ["sign"]));
  },
  async "ReadableStream: chunks in order"() {
    const stream = new ReadableStream({
      start(controller) { controller.enqueue(1); },
      pull(controller) { controller.enqueue(2); controller.close(); },
    });
    same([await readAll(stream), stream.locked], [[1, 2], true]);
    throws("TypeError", () => stream.getReader());
    same(await readAll(ReadableStream.from(["a", "b"])), ["a", "b"]);
  },
  async "ReadableStream: errors and cancelling"() {
    const failing = new ReadableStream({ pull() { throw new RangeError("x"); } });
    await rejects("RangeError", failing.getReader().read());
    let reason = null;
    const reader = new ReadableStream({ cancel(given) { reason = given; } }).getReader();
    await reader.cancel("enough");
    same([reason, await reader.read()], ["enough", { value: undefined, done: true }]);
  },
  async "ReadableStream: as a body"() {
    const stream = new ReadableStream({
      async pull(controller) {
        await null;
        controller.enqueue(new TextEncoder().encode("stream"));
        controller.close();
      },
    });
    same(await new Response(stream).text(), "stream");
    same(text((await readAll(new Response("body").body))[0]), "body");
  },
  "performance, Math.random and navigator"() {
    const before = performance.now();
    if (!(performance.now() >= before)) throw new Error("the clock runs backwards");
    if (Math.random() === Math.random()) throw new Error("the numbers are repeated");
    same([navigator.userAgent, self === globalThis], ["Stead", true]);
  },
};

export default {
  async fetch(request) {
    const failed = {};
    for (const [name, check] of Object.entries(checks)) {
      try {
        await check();
      } catch (error) {
        failed[name] = String(error);
      }
    }
    const asked = (await request.json()).map((name) => [name, name.split(".").reduce((found, part) => found?.[part], globalThis) !== undefined]);
    console.log("checked", { count: Object.keys(checks).length });
    return Response.json({ count: Object.keys(checks).length, failed, available: Object.fromEntries(asked) });
  },
};
