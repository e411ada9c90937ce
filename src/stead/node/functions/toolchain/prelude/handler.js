// Passes a request to the code of the function, and its response back.
import { makeEnvironment } from "./bindings.js";
import { Request, Response, collect, packBody } from "./http.js";
import { forgetTasks, Promise, runUntil } from "./tasks.js";
import { base64ToBytes } from "./text.js";

let environment = null;

function unpackRequest({ method, url, headers, body, body_base64 }) {
  const request = new Request(url, { method, headers });
  const content = body_base64 === undefined ? body : base64ToBytes(body_base64);
  request.content = content?.length ? content : null;
  return request;
}

function describe(error) {
  return error instanceof Error ? `${error}\n${error.stack ?? ""}`.trim() : `it threw ${String(error)}`;
}

export function makeHandler(module) {
  return (text) => {
    forgetTasks();
    let outcome = null;
    const waiting = [];
    const context = {
      waitUntil: (promise) => waiting.push(Promise.resolve(promise).then(undefined, () => {})),
      passThroughOnException: () => {},
    };
    try {
      const handler = module.default;
      if (typeof handler?.fetch !== "function") {
        throw new TypeError("the module must have a default export with the method fetch(request, env, context)");
      }
      environment ??= makeEnvironment();
      const request = unpackRequest(JSON.parse(text));
      new Promise((resolve) => resolve(handler.fetch(request, environment, context))).then((response) => {
        if (!(response instanceof Response)) throw new TypeError("fetch must return a Response");
        return collect(response.content).then((content) => {
          outcome = { status: response.status, headers: response.headers.raw(), ...packBody(content) };
        });
      }).catch((error) => {
        outcome = { failed: describe(error) };
      });
      runUntil(() => outcome !== null);
      if (outcome !== null && waiting.length) {
        let finished = false;
        Promise.all(waiting).then(() => { finished = true; });
        runUntil(() => finished);
      }
    } catch (error) {
      outcome ??= { failed: describe(error) };
    }
    return JSON.stringify(outcome ?? { failed: "the promise of fetch is never settled" });
  };
}
