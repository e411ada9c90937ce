// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Backups extends Resource {
  /**
   * Take a snapshot of the production environment: database, files, release and configuration.
   *
   * The job restores the snapshot on trial before it succeeds: rows and files are compared with the original,
   * and WordPress is started without a network and must answer. A snapshot that fails this is not kept.
   *
   * Scopes: `backups:write`.
   */
  async create(siteId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/backup`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Restore a snapshot in place: database, files, release, redirects and configuration are replaced.
   *
   * The current state becomes a snapshot first (`before_restore`). The restored state is prepared beside it,
   * and visitors get it in one step. If the site does not answer then, it returns to the state before, and the
   * job fails. A failed restore can be repeated. The version of PHP, the domains, and the settings in
   * `security` stay as they are.
   *
   * Scopes: `backups:write`.
   */
  async restore(siteId: string, snapshotId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/snapshots/${inPath(snapshotId)}/restore`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Read the latest snapshot of each site, and how its last backup ended. At most 500 sites.
   *
   * Scopes: `backups:read`.
   */
  async status(options: RequestOptions = {}): Promise<types.Backups> {
    const { body: found } = await this.transport.request("GET", "/v1/backups/status", { options });
    return dataOf<types.Backups>(found);
  }
}
