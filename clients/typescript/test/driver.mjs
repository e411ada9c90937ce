/**
 * Calls the client as tests tell it to: one JSON object in each line, and one in each line of the answer.
 *
 * {"resource": "sites", "action": "get", "arguments": ["site_…"], "apiKey": "stead_live_…"}
 */
import { createInterface } from "node:readline";

import { ApiError, JobFailed, Stead } from "../dist/index.js";

const first = new Stead({
  apiKey: process.env.STEAD_API_KEY ?? "",
  baseUrl: process.env.STEAD_BASE_URL,
  timeout: Number(process.env.STEAD_TIMEOUT ?? 60_000),
});

async function drained(found) {
  if (typeof found?.[Symbol.asyncIterator] !== "function") return found;
  const items = [];
  for await (const item of found) items.push(item);
  return items;
}

/** A signal that ends a request after so many milliseconds, or when this process gets SIGUSR2. */
function abortSignal(after) {
  if (after !== "SIGUSR2") return AbortSignal.timeout(after);
  const ending = new AbortController();
  process.once(after, () => ending.abort());
  return ending.signal;
}

async function run({ resource, action, arguments: given, job, abortAfter, apiKey }) {
  const client = apiKey === undefined ? first : first.withOptions({ apiKey });
  const options = abortAfter === undefined ? [] : [{ signal: abortSignal(abortAfter) }];
  const owner = resource === "" ? client : client[resource];
  const found = await owner[action](...given, ...options);
  if (found?.constructor?.name !== "JobHandle") return drained(found);
  if (job === "events") return drained(found.events());
  if (job !== undefined) return found[job]({ within: 30_000 });
  return found.job;
}

function describe(error) {
  const classes = [];
  for (let kind = error.constructor; kind.name; kind = Object.getPrototypeOf(kind)) classes.push(kind.name);
  const more = error instanceof ApiError ? { status: error.status, type: error.type, requestId: error.requestId, param: error.param } : {};
  const code = error instanceof ApiError || error instanceof JobFailed ? error.code : undefined;
  return { classes, message: error.message, code, ...more };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { value: (await run(JSON.parse(line))) ?? null };
  } catch (error) {
    answer = { error: describe(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
