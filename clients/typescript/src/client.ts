/** The client. */
import { ConnectionError } from "./errors.js";
import { Resources } from "./resources/index.js";
import { mayHaveHadEffect, waitBeforeRetry } from "./retries.js";
import { type ClientOptions, type RawResponse, type RequestOptions, type Sent, sleep, Transport } from "./transport.js";
import type { Upload } from "./types.js";

export interface UploadOptions extends RequestOptions {
  /** Called when the upload begins, and when it is complete: `fetch` does not say more. */
  onProgress?: ((sent: number, total: number) => void) | undefined;
}

/**
 * The Stead API.
 *
 *     const stead = new Stead({ apiKey, baseUrl });
 *     const site = await (await stead.sites.create({ domain: "example.com", profile: "static" })).result();
 */
export class Stead extends Resources {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions = {}) {
    super(new Transport(options));
    this.#options = options;
  }

  get baseUrl(): string {
    return this.transport.baseUrl;
  }

  /** Whether the key is a test key: its sites are simulated. */
  get isTest(): boolean {
    return this.transport.isTest;
  }

  /** The same client with other options. */
  withOptions(options: ClientOptions): Stead {
    return new Stead({ ...this.#options, baseUrl: this.baseUrl, ...options });
  }

  /** Send any request, and return the response as it is. An error of the API is thrown. */
  request(method: string, path: string, sent: Sent = {}): Promise<RawResponse> {
    return this.transport.request(method, path, sent);
  }

  /**
   * Upload an archive. The returned upload is the `source` of a build. Each attempt may take as long as a request,
   * and a minute more for each megabyte.
   */
  async uploadFile(siteId: string, content: Blob | Uint8Array, options: UploadOptions = {}): Promise<Upload> {
    const blob = content instanceof Blob ? content : new Blob([content as Uint8Array<ArrayBuffer>]);
    const upload = await this.uploads.create(siteId, { size_bytes: blob.size }, options);
    options.onProgress?.(0, blob.size);
    let mayBeDone = false;
    for (let attempt = 0; ; attempt++) {
      let status = 0;
      let failure: unknown = null;
      try {
        status = await this.transport.put(upload.url, upload.method, upload.headers, blob, options);
      } catch (error) {
        failure = error;
      }
      if ((status >= 200 && status < 300) || (status === 412 && mayBeDone)) {
        options.onProgress?.(blob.size, blob.size);
        return upload;
      }
      const wait = waitBeforeRetry({ status }, attempt, "natural");
      if (wait === null || attempt >= this.transport.maxRetries(options) || options.signal?.aborted) {
        throw failure ?? new ConnectionError(`The upload was refused with status ${status}.`);
      }
      mayBeDone ||= mayHaveHadEffect({ status });
      await sleep(wait, options.signal);
    }
  }
}
