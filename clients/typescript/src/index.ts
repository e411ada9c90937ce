/** The TypeScript client of the Stead API. */
export { Stead, type UploadOptions } from "./client.js";
export * from "./errors.js";
export type { ErrorCode } from "./error-codes.js";
export { type JobEvent, JobHandle, type WaitOptions } from "./jobs.js";
export type { LiveEvent } from "./live.js";
export { type Page, Pager } from "./pages.js";
export type { ClientOptions, RawResponse, RequestOptions, Sent } from "./transport.js";
export type * from "./types.js";
export { verify as verifyWebhook, type VerifyOptions } from "./webhooks.js";
