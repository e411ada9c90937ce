// Passes a request to the code of the function, and its response back.
import { makeEnvironment } from "./bindings.js";
import { Request, Response, collect, packBody } from "./http.js";
import { ReadableStream } from "./streams.js";
import { forgetTasks, Promise, runUntil } from "./tasks.js";
import { base64ToBytes } from "./text.js";

const PENDING = Symbol("nothing is left that could settle the promise");

let environment = null;

function unpackRequest(description) {
  const { body, body_base64 } = description;
  const content = body_base64 === undefined ? body : base64ToBytes(body_base64);
  return Request.incoming(description, content?.length ? content : null);
}

// The response as the platform takes it. The content of a stream must have been collected.
function pack(response, content) {
  const { status } = response, headers = response.headers.raw();
  return typeof content === "string" ? { status, headers, body: content } : { status, headers, ...packBody(content) };
}

function describe(error) {
  return error instanceof Error ? `${error}\n${error.stack ?? ""}`.trim() : `it threw ${String(error)}`;
}

function finish(response) {
  if (!(response instanceof Response)) throw new TypeError("fetch must return a Response");
  if (!(response.content instanceof ReadableStream)) return pack(response, response.content ?? "");
  const content = await_(collect(response.content));
  return content === PENDING ? null : pack(response, content);
}

// The value of a promise, after everything that has to be done for it.
function await_(promise) {
  runUntil(() => Promise.inspect(promise) !== null);
  const settled = Promise.inspect(promise);
  if (settled?.rejected) throw settled.value;
  return settled === null ? PENDING : settled.value;
}

class Context {
  waiting = [];

  waitUntil(promise) {
    this.waiting.push(Promise.resolve(promise).then(undefined, () => {}));
  }

  passThroughOnException() {}
}

export function makeHandler(module) {
  return (text) => {
    forgetTasks();
    let outcome = null;
    const context = new Context(), { waiting } = context;
    try {
      const handler = module.default;
      if (typeof handler?.fetch !== "function") {
        throw new TypeError("the module must have a default export with the method fetch(request, env, context)");
      }
      environment ??= makeEnvironment();
      const request = unpackRequest(JSON.parse(text));
      const returned = handler.fetch(request, environment, context);
      const answer = returned instanceof Response ? returned : await_(Promise.resolve(returned));
      if (answer !== PENDING) outcome = finish(answer);
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
