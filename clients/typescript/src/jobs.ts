/** Handles of jobs, and streams that survive broken connections. */
import { ApiError, ConnectionError, JobFailed, JobTimeout, TimeoutError } from "./errors.js";
import { EventParser, type ServerSentEvent } from "./events.js";
import { dataOf } from "./responses.js";
import { inPath, type RequestOptions, sleep, type StreamHealth, type Transport } from "./transport.js";
import type { Job } from "./types.js";

/** `output` has a `line`, `job` has the `job`, and `done` is the last. */
export type JobEvent =
  | { kind: "output"; id: string; line: string }
  | { kind: "job"; id: string; job: Job }
  | { kind: "done"; id: string };

export interface WaitOptions extends RequestOptions {
  /** Milliseconds to wait for the end of the job. */
  within?: number | undefined;
}

const LONGEST_WAIT_MS = 5_000;
const MOST_FAILURES = 8;
/** How long `wait` goes on asking a server that does not answer. */
const LONGEST_OUTAGE_MS = 300_000;

/** A job that an operation started. `job` is its last known state. */
export class JobHandle<T> {
  constructor(
    private readonly transport: Transport,
    public job: Job,
    private readonly read: (job: Job, options: RequestOptions) => Promise<T>,
  ) {}

  get id(): string {
    return this.job.id;
  }

  async refresh(options: RequestOptions = {}): Promise<Job> {
    const { body } = await this.transport.request("GET", `/v1/jobs/${inPath(this.id)}`, { options });
    this.job = dataOf<Job>(body);
    return this.job;
  }

  /** Ask for the job to be cancelled. It then ends as `failed`. */
  async cancel(options: RequestOptions = {}): Promise<Job> {
    const path = `/v1/jobs/${inPath(this.id)}/cancel`;
    const { body } = await this.transport.request("POST", path, { idempotent: "key", options });
    this.job = dataOf<Job>(body);
    return this.job;
  }

  /**
   * Output and changes, until the job has ended. No event is missed, and none comes twice, also when the
   * connection breaks. `after` is the id of the last event that you have.
   */
  async *events(after = "", options: RequestOptions = {}): AsyncGenerator<JobEvent, void, undefined> {
    for await (const event of follow(this.transport, this.id, after, options)) {
      if (event.kind === "job") this.job = event.job;
      yield event;
    }
  }

  /**
   * Wait until the job has ended, also if the server cannot be reached for some minutes. A job that fails throws
   * `JobFailed`; one that is late, `JobTimeout`.
   */
  async wait(options: WaitOptions = {}): Promise<Job> {
    const ends = options.within === undefined ? Infinity : Date.now() + options.within;
    let answered = Date.now();
    for (let pause = 200; ; pause = Math.min(LONGEST_WAIT_MS, pause * 1.5)) {
      try {
        // An attempt does not take longer than the caller waits.
        const timeout = Math.min(this.transport.timeout(options), Math.max(1_000, ends - Date.now()));
        await this.refresh({ ...options, maxRetries: 0, timeout });
        if (hasEnded(this.job)) break;
        answered = Date.now();
      } catch (error) {
        if (!isTransient(error) || Date.now() - answered > LONGEST_OUTAGE_MS) throw error;
      }
      if (Date.now() >= ends) throw new JobTimeout(this.job);
      await sleep(Math.max(10, Math.min(pause, ends - Date.now())), options.signal);
    }
    if (this.job.status === "failed" || this.job.error) throw new JobFailed(this.job);
    return this.job;
  }

  /** Wait, and return what the job has created; or its result, if it creates nothing. */
  async result(options: WaitOptions = {}): Promise<T> {
    return this.read(await this.wait(options), options);
  }
}

/** A status that this version does not know is final if the progress says so. */
function hasEnded(job: Job): boolean {
  return job.status === "succeeded" || job.status === "failed" || job.progress >= 1;
}

/** When a stream that has ended is opened again, and when that is given up. */
export class Reconnects implements StreamHealth {
  #failures = 0;
  #opened: number | null = null;
  #heard = 0;

  heard(): void {
    this.#heard = Date.now();
    this.#opened ??= this.#heard;
  }

  worked(): void {
    this.#failures = 0;
  }

  /** Wait before the next connection, or throw what ended the last one. */
  async wait(error: unknown, signal?: AbortSignal): Promise<void> {
    if (error !== null && !isTransient(error)) throw error;
    if (this.#opened !== null) {
      // A stream that fell silent worked until something arrived for the last time.
      const until = error instanceof TimeoutError ? this.#heard : Date.now();
      // It worked for a while: a quiet stream behind a proxy that ends long connections.
      if (until - this.#opened > LONGEST_WAIT_MS) this.#failures = 0;
    }
    this.#opened = null;
    this.#failures += 1;
    if (this.#failures >= MOST_FAILURES) {
      throw error ?? new ConnectionError("The stream ended repeatedly without an event.");
    }
    await sleep(Math.min(LONGEST_WAIT_MS, 100 * 2 ** this.#failures), signal);
  }
}

/** Whether the same request may succeed later. */
function isTransient(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500 || error.status === 429;
  return error instanceof ConnectionError;
}

export async function* follow(
  transport: Transport,
  jobId: string,
  after = "",
  options: RequestOptions = {},
): AsyncGenerator<JobEvent, void, undefined> {
  const parser = new EventParser(after);
  const reconnects = new Reconnects();
  const path = `/v1/jobs/${inPath(jobId)}/stream`;
  for (;;) {
    let failure: unknown = null;
    try {
      for await (const event of transport.events(path, parser, reconnects, undefined, options)) {
        if (event === null) continue;
        reconnects.worked();
        const known = jobEvent(event);
        if (known !== null) yield known;
        if (event.event === "done") return;
      }
    } catch (error) {
      failure = error;
    }
    await reconnects.wait(failure, options.signal);
  }
}

/** Null for a kind that this version does not know. */
function jobEvent(event: ServerSentEvent): JobEvent | null {
  if (event.event === "job") return { kind: "job", id: event.id, job: JSON.parse(event.data) as Job };
  if (event.event === "done") return { kind: "done", id: event.id };
  return event.event === "message" ? { kind: "output", id: event.id, line: event.data } : null;
}

/** An identifier that the job names, in its result or its resource. */
export function fieldOf(job: Job, name: string): string {
  const found: Record<string, unknown> = { ...job.resource, ...job.result };
  return String(found[name]);
}

/** A new job, also in the short form that functions return. */
export function jobOf(body: unknown): Job {
  const data = dataOf<Record<string, unknown>>(body);
  return ("id" in data ? data : { ...data, id: data["job_id"] }) as unknown as Job;
}
