// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Resource } from "../resource.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Exec extends Resource {
  /**
   * Run a command of WP-CLI in an environment. What it prints is the output of the job.
   *
   * A key with the scope `cms.cli:exec` operates the site: it cannot run PHP, read or write arbitrary files,
   * or make somebody an administrator. Every other command is refused with 403 and needs the scope `exec:raw`.
   * Sessions have no such limit. If the command ends with an exit code other than 0, the job fails with
   * `exec.failed`, and its message contains the exit code.
   *
   * Scopes: `cms.cli:exec`.
   */
  async run(siteId: string, envId: string, body: types.NewCommand, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/exec`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}
