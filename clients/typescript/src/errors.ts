/**
 * What can go wrong. Every error of this package is a `SteadError`.
 *
 * An error of the API has the class of its type (`NotFound`), and `code` says exactly what it is. Match on
 * `error.code`: a message may be reworded.
 */
import type { ErrorCode } from "./error-codes.js";
import type { Job } from "./types.js";

export class SteadError extends Error {
  override name = "SteadError";
}

/** The client lacks an address. */
export class ConfigurationError extends SteadError {
  override name = "ConfigurationError";
}

/** No complete response arrived. */
export class ConnectionError extends SteadError {
  override name = "ConnectionError";
}

/** No response arrived in time. */
export class TimeoutError extends ConnectionError {
  override name = "TimeoutError";
}

/** The caller ended the request with an `AbortSignal`. */
export class AbortedError extends SteadError {
  override name = "AbortedError";
}

export interface ErrorBody {
  type?: string;
  code?: string;
  message?: string;
  doc_url?: string;
  param?: string;
  [name: string]: unknown;
}

/** The API refused the request. `docUrl` says what to do. */
export class ApiError extends SteadError {
  override name = "ApiError";
  readonly type: string | undefined;
  readonly code: ErrorCode | undefined;
  readonly docUrl: string | undefined;
  readonly param: string | undefined;

  constructor(
    readonly status: number,
    readonly body: ErrorBody,
    readonly requestId: string | undefined,
  ) {
    const text = body.message ?? `The server responded with status ${status}.`;
    super(requestId === undefined ? text : `${text} (${requestId})`);
    this.type = body.type;
    this.code = body.code as ErrorCode | undefined;
    this.docUrl = body.doc_url;
    this.param = body.param;
  }
}

/** The request is wrong; `param` names the field. */
export class InvalidRequest extends ApiError {
  override name = "InvalidRequest";
}

/** The credential is missing, wrong, expired or revoked. */
export class AuthenticationError extends ApiError {
  override name = "AuthenticationError";
}

/** The credential or the role does not allow it. */
export class PermissionDenied extends ApiError {
  override name = "PermissionDenied";
}

/** It does not exist, or the credential cannot see it. */
export class NotFound extends ApiError {
  override name = "NotFound";
}

/** The state of the resource does not allow it. */
export class Conflict extends ApiError {
  override name = "Conflict";
}

/** The plan does not allow more. */
export class QuotaExceeded extends ApiError {
  override name = "QuotaExceeded";
}

/** Too many requests. */
export class RateLimited extends ApiError {
  override name = "RateLimited";
}

/** The server failed. */
export class ServerFault extends ApiError {
  override name = "ServerFault";
}

/** A job has failed. `code` says why. */
export class JobFailed extends SteadError {
  override name = "JobFailed";
  readonly code: string | undefined;

  constructor(readonly job: Job) {
    const error = (job.error ?? {}) as { code?: string; message?: string };
    super(error.message ?? `The job ${job.id} has failed.`);
    this.code = error.code;
  }
}

/** A job has not ended in the time that the caller gave it. It goes on. */
export class JobTimeout extends SteadError {
  override name = "JobTimeout";

  constructor(readonly job: Job) {
    super(`The job ${job.id} has not ended yet.`);
  }
}

/** A delivery is not from Stead, or too old. */
export class WebhookVerificationError extends SteadError {
  override name = "WebhookVerificationError";
}

const BY_TYPE: Record<string, typeof ApiError> = {
  invalid_request: InvalidRequest,
  authentication: AuthenticationError,
  permission: PermissionDenied,
  not_found: NotFound,
  conflict: Conflict,
  quota_exceeded: QuotaExceeded,
  rate_limit: RateLimited,
  api_error: ServerFault,
};
const BY_STATUS: Record<number, typeof ApiError> = {
  400: InvalidRequest,
  401: AuthenticationError,
  403: PermissionDenied,
  404: NotFound,
  409: Conflict,
  429: RateLimited,
};

/** The error of a response. A proxy may have sent something that is not an error of the API. */
export function errorOf(status: number, body: unknown, requestId: string | undefined): ApiError {
  const envelope = isObject(body) ? body : {};
  const error: ErrorBody = isObject(envelope["error"]) ? envelope["error"] : {};
  const own = typeof envelope["request_id"] === "string" ? envelope["request_id"] : requestId;
  const general = BY_STATUS[status] ?? (status >= 500 ? ServerFault : ApiError);
  const kind = (error.type === undefined ? undefined : BY_TYPE[error.type]) ?? general;
  return new kind(status, error, own);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
