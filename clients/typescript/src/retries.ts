/** Which requests are sent again, and when. */

/** Whether a request may be repeated: as it is, with an `Idempotency-Key`, or not. */
export type Idempotent = "natural" | "key" | "none";

/** What came of an attempt. The status is 0 if no complete response arrived. */
export interface Failure {
  status: number;
  type?: string | undefined;
  code?: string | undefined;
  retryAfter?: number | undefined;
}

const MAX_WAIT_MS = 60_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
const TRANSIENT = new Set([0, 408, 500, 502, 503, 504]);

/** In milliseconds, or null if the request must not be sent again. `attempt` counts from 0. */
export function waitBeforeRetry(failure: Failure, attempt: number, idempotent: Idempotent): number | null {
  if (!mayRepeat(failure, idempotent)) return null;
  if (failure.retryAfter !== undefined) return failure.retryAfter <= MAX_WAIT_MS ? failure.retryAfter : null;
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
  return longest * (0.5 + Math.random() / 2);
}

/** Whether the server may have done what was asked for. */
export function mayHaveHadEffect(failure: Failure): boolean {
  return failure.status === 0 || failure.status >= 500;
}

/** The header in milliseconds. */
export function readRetryAfter(value: string | null): number | undefined {
  if (value === null || value.trim() === "") return undefined;
  const seconds = Number(value);
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : undefined;
}

function mayRepeat(failure: Failure, idempotent: Idempotent): boolean {
  // Refused before it had an effect. A quota does not pass by waiting.
  if (failure.status === 429) return failure.type === undefined || failure.type === "rate_limit";
  if (idempotent === "none") return false;
  return TRANSIENT.has(failure.status) || failure.code === "idempotency.in_flight";
}
