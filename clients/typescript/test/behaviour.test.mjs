/** What needs another clock, or a server that is not the API. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { ConfigurationError, ConnectionError, NotFound, Stead, TimeoutError } from "../dist/index.js";
import { Reconnects } from "../dist/jobs.js";

/** Serves until the tests end. */
async function serving(handle) {
  const server = createServer(handle);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

function answer(response, status, data) {
  response.writeHead(status, { "content-type": "application/json", "x-request-id": "req_1" });
  response.end(data === undefined ? "" : JSON.stringify({ data }));
}

test("a network that swallows everything is given up", async (t) => {
  t.mock.timers.enable({ apis: ["Date", "setTimeout"] });
  const reconnects = new Reconnects();
  let attempts = 0;
  const failing = (async () => {
    for (;;) {
      attempts += 1;
      t.mock.timers.tick(10_000);
      await reconnects.wait(new ConnectionError("nobody answers"));
    }
  })();
  let error = null;
  failing.catch((thrown) => (error = thrown));
  for (let turn = 0; turn < 1_000 && error === null; turn++) {
    t.mock.timers.tick(5_000);
    await Promise.resolve();
  }
  assert.ok(error instanceof ConnectionError);
  assert.equal(attempts, 8);
});

test("a stream that falls silent is given up, and one that works is not", async (t) => {
  for (const [minutes, error, expected] of [[0, new TimeoutError("silence"), 8], [1, null, 50]]) {
    t.mock.timers.reset();
    t.mock.timers.enable({ apis: ["Date", "setTimeout"] });
    const reconnects = new Reconnects();
    let attempts = 0;
    let thrown = null;
    (async () => {
      while (attempts < 50) {
        attempts += 1;
        reconnects.heard();
        t.mock.timers.tick(minutes * 60_000);
        if (minutes > 0) reconnects.heard();
        t.mock.timers.tick(60_000);
        await reconnects.wait(error);
      }
    })().catch((found) => (thrown = found));
    for (let turn = 0; turn < 1_000 && thrown === null && attempts < 50; turn++) {
      t.mock.timers.tick(5_000);
      await Promise.resolve();
    }
    assert.equal(attempts, expected);
  }
});

test("an upload to a store that stays silent ends", async () => {
  let uploads = 0;
  const store = await serving(() => {
    uploads += 1;
  });
  const api = await serving((request, response) => {
    request.resume();
    answer(response, 201, { id: "up_1", url: `${store}/put`, method: "PUT", headers: {} });
  });
  const stead = new Stead({ baseUrl: api, apiKey: "key", timeout: 3_000, maxRetries: 0 });
  await assert.rejects(stead.uploadFile("site_1", new Uint8Array(10)), TimeoutError);
  assert.equal(uploads, 1);
});

test("a lost response to a deletion is no error, but one that returns something is not invented", async () => {
  let calls = 0;
  const api = await serving((request, response) => {
    calls += 1;
    if (calls % 2 === 1) request.socket.destroy();
    else answer(response, 404);
  });
  const stead = new Stead({ baseUrl: api, apiKey: "key" });
  assert.equal(await stead.teams.delete("team_1"), undefined);
  await assert.rejects(stead.environments.destroy("site_1", "env_1"), NotFound);
  await assert.rejects(stead.request("DELETE", "/v1/teams/team_1"), NotFound);
  assert.equal(calls, 6);
});

test("a path cannot name another host", async () => {
  const stead = new Stead({ baseUrl: "http://127.0.0.1:1", apiKey: "key", maxRetries: 0 });
  for (const path of ["@evil.example/x", ".evil.example", "v1/sites"]) {
    await assert.rejects(stead.request("GET", path), ConfigurationError);
  }
});

test("a method shows its response, and a filter can have several values", async () => {
  const targets = [];
  const api = await serving((request, response) => {
    targets.push(request.url);
    answer(response, 200, { id: "site_1" });
  });
  const stead = new Stead({ baseUrl: api, apiKey: "key" });
  const seen = [];
  const site = await stead.sites.get("site_1", { onResponse: (response) => seen.push(response) });
  assert.equal(site.id, "site_1");
  assert.deepEqual([seen[0].status, seen[0].requestId], [200, "req_1"]);
  await stead.request("GET", "/v1/teams", { query: { x: [1, 2], y: undefined } });
  assert.equal(targets[1], "/v1/teams?x=1&x=2");
});

test("a response without what was asked for is reported", async () => {
  const api = await serving((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end("{}");
  });
  const stead = new Stead({ baseUrl: api, apiKey: "key" });
  await assert.rejects(stead.sites.get("site_1"), /Is the address that of the Stead API/);
});

test("a page without TLS has no randomUUID, and still creates things once", async (t) => {
  const keys = [];
  const api = await serving((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    request.resume();
    answer(response, keys.length === 1 ? 503 : 201, { team_id: "team_1" });
  });
  t.mock.method(crypto, "randomUUID", () => {
    throw new TypeError("crypto.randomUUID is not a function");
  });
  const stead = new Stead({ baseUrl: api, apiKey: "key" });
  await stead.teams.create({ name: "once" });
  assert.equal(new Set(keys).size, 1);
  assert.match(keys[0], /^stead-typescript-retry-[0-9a-f]{32}$/);
});

test("a redirect in a browser has no status, and is not repeated", async () => {
  let calls = 0;
  const stead = new Stead({
    baseUrl: "https://stead.example",
    apiKey: "key",
    fetch: async () => {
      calls += 1;
      return { status: 0, ok: false, type: "opaqueredirect", headers: new Headers(), text: async () => "" };
    },
  });
  await assert.rejects(stead.account.get(), /Is the address that of the Stead API/);
  assert.equal(calls, 1);
});

test("a caller that takes long for an event keeps its stream", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const body = new ReadableStream({
    start(controller) {
      for (const text of ["data: one\n\n", "data: two\n\n", "event: done\ndata: {}\n\n"]) {
        controller.enqueue(new TextEncoder().encode(text));
      }
      controller.close();
    },
  });
  let aborted = false;
  const stead = new Stead({
    baseUrl: "https://stead.example",
    apiKey: "key",
    fetch: async (_, init) => {
      init.signal.addEventListener("abort", () => (aborted = true));
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  const lines = [];
  for await (const event of stead.jobs.stream("job_1")) {
    t.mock.timers.tick(120_000);
    assert.equal(aborted, false);
    if (event.kind === "output") lines.push(event.line);
  }
  assert.deepEqual(lines, ["one", "two"]);
});
