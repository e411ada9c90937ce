// Generated from the API description by `make generate`.
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Uploads extends Resource {
  /**
   * Get a URL to upload an archive to, for a build of files that are in no repository.
   *
   * Send a tar, tar.gz or zip file of exactly the declared size with one `PUT` and the returned headers, then
   * build with the id of the upload as `source`. The URL accepts one archive. It is kept until a build of it
   * has succeeded, for one day at most, and counts toward the storage of the plan until then.
   *
   * Scopes: `deployments:write`.
   */
  async create(siteId: string, body: types.NewUpload, options: RequestOptions = {}): Promise<types.Upload> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/uploads`, { body, idempotent: "key", options });
    return dataOf<types.Upload>(found);
  }
}
