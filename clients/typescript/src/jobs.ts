/** Handles of jobs, and streams that survive broken connections. */
import { ApiError, ConnectionError, JobFailed, JobTimeout } from "./errors.js";
import { EventParser, type ServerSentEvent } from "./events.js";
import { inPath, type RequestOptions, sleep, type Transport } from "./transport.js";
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
    this.job = (body as { data: Job }).data;
    return this.job;
  }

  /** Ask for the job to be cancelled. It then ends as `failed`. */
  async cancel(options: RequestOptions = {}): Promise<Job> {
    const path = `/v1/jobs/${inPath(this.id)}/cancel`;
    const { body } = await this.transport.request("POST", path, { idempotent: "key", options });
    this.job = (body as { data: Job }).data;
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

  /** Wait until the job has ended. A job that fails throws `JobFailed`; one that is late, `JobTimeout`. */
  async wait(options: WaitOptions = {}): Promise<Job> {
    const ends = options.within === undefined ? Infinity : Date.now() + options.within;
    for (let pause = 200; ; pause = Math.min(LONGEST_WAIT_MS, pause * 1.5)) {
      const { status } = await this.refresh(options);
      if (status === "failed") throw new JobFailed(this.job);
      if (status === "succeeded") return this.job;
      if (Date.now() >= ends) throw new JobTimeout(this.job);
      await sleep(Math.max(10, Math.min(pause, ends - Date.now())), options.signal);
    }
  }

  /** Wait, and return what the job has created; or its result, if it creates nothing. */
  async result(options: WaitOptions = {}): Promise<T> {
    return this.read(await this.wait(options), options);
  }
}

/** When a stream that has ended is opened again, and when that is given up. */
export class Reconnects {
  #failures = 0;
  #began = Date.now();

  worked(): void {
    this.#failures = 0;
  }

  /** Wait before the next connection, or throw what ended the last one. */
  async wait(error: unknown, signal?: AbortSignal): Promise<void> {
    const passes = error === null || error instanceof ConnectionError || isTransient(error);
    if (!passes) throw error;
    // It worked for a while: a quiet stream behind a proxy that ends long connections.
    if (Date.now() - this.#began > LONGEST_WAIT_MS) this.#failures = 0;
    this.#failures += 1;
    if (this.#failures >= MOST_FAILURES) {
      throw error ?? new ConnectionError("The stream ended repeatedly without an event.");
    }
    await sleep(Math.min(LONGEST_WAIT_MS, 100 * 2 ** this.#failures), signal);
    this.#began = Date.now();
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof ApiError && (error.status >= 500 || error.status === 429);
}

export async function* follow(
  transport: Transport,
  jobId: string,
  after = "",
  options: RequestOptions = {},
): AsyncGenerator<JobEvent, void, undefined> {
  const parser = new EventParser(after);
  const reconnects = new Reconnects();
  for (;;) {
    let failure: unknown = null;
    try {
      for await (const event of transport.events(`/v1/jobs/${inPath(jobId)}/stream`, parser, undefined, options)) {
        reconnects.worked();
        yield jobEvent(event);
        if (event.event === "done") return;
      }
    } catch (error) {
      failure = error;
    }
    await reconnects.wait(failure, options.signal);
  }
}

function jobEvent(event: ServerSentEvent): JobEvent {
  if (event.event === "job") return { kind: "job", id: event.id, job: JSON.parse(event.data) as Job };
  if (event.event === "done") return { kind: "done", id: event.id };
  return { kind: "output", id: event.id, line: event.data };
}

/** An identifier that the job names, in its result or its resource. */
export function fieldOf(job: Job, name: string): string {
  const found: Record<string, unknown> = { ...job.resource, ...job.result };
  return String(found[name]);
}

/** A new job, also in the short form that functions return. */
export function jobOf(body: unknown): Job {
  const { data } = body as { data: Record<string, unknown> };
  return ("id" in data ? data : { ...data, id: data["job_id"] }) as unknown as Job;
}
