/** How long requests may take. */
import { AbortedError, ConnectionError, SteadError, TimeoutError } from "./errors.js";

/** Ends a request when the caller wants it, or when it takes too long. */
export class Limit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLate = false;

  constructor(outer: AbortSignal | undefined, timeout: number | undefined) {
    this.#outer = outer;
    if (outer?.aborted) this.#stop();
    outer?.addEventListener("abort", this.#stop);
    if (timeout !== undefined) this.restart(timeout);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(timeout: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#controller.abort();
    }, timeout);
  }

  pause(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }

  explain(error: unknown): SteadError {
    if (error instanceof SteadError) return error;
    if (this.#outer?.aborted) return new AbortedError("The request was aborted.", { cause: error });
    if (this.#isLate) return new TimeoutError("No response arrived in time.", { cause: error });
    const reason = error instanceof Error ? causeOf(error) : String(error);
    return new ConnectionError(`The connection failed: ${reason}`, { cause: error });
  }

  readonly #stop = (): void => this.#controller.abort();
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
