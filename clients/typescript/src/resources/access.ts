// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Resource, unlessEmpty } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Access extends Resource {
  /**
   * Give the administrator of a WordPress site a new random password, which is shown only here.
   *
   * It is valid when the job has succeeded. Then the earlier password is not, and the administrator is signed
   * out everywhere.
   *
   * Scopes: `credentials:write`.
   */
  async adminPasswordReset(siteId: string, options: RequestOptions = {}): Promise<types.NewPassword> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/admin-password/reset`, { idempotent: "key", options });
    return dataOf<types.NewPassword>(found);
  }

  /**
   * List the SSH keys that open the environments of a site.
   *
   * Scopes: `credentials:read`.
   */
  async sshKeysGet(siteId: string, options: RequestOptions = {}): Promise<types.SshKeys> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/ssh-keys`, { options });
    return dataOf<types.SshKeys>(found);
  }

  /**
   * Replace the SSH keys of a site.
   *
   * The list counts at once; the job ends when every node has it. A new key belongs to you: it is removed when
   * you leave the team or lose the role, when the site gets another owner, and when the API key that you used
   * is revoked. A key that is in the list already stays with its owner. To remove the key of a member with a
   * higher role, that role is required. A key that was added with an API key without the scope `exec:raw`
   * transfers files and opens no shell.
   *
   * Scopes: `credentials:write`.
   */
  async sshKeysReplace(siteId: string, body: types.NewSshKeys, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("PUT", `/v1/sites/${inPath(siteId)}/ssh-keys`, { body, options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Read where and as whom to connect to the environments of a site. No secret is ever returned.
   *
   * Scopes: `credentials:read`.
   */
  async credentialsGet(siteId: string, options: RequestOptions = {}): Promise<types.Credentials> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/credentials`, { options });
    return dataOf<types.Credentials>(found);
  }

  /**
   * Create a new password for file transfers or for the database, or replace it. It is returned only once.
   *
   * `sftp` is for programs that cannot use keys. It opens no shell and no tunnel. `database` is for whoever
   * has opened a tunnel to the database with a key; the site has a password of its own, which stays. The new
   * password works within seconds, and the old one does not any more. It belongs to you, like a key.
   *
   * Scopes: `credentials:write`.
   */
  async credentialsReset(siteId: string, kind: string, body: types.PasswordReset = {}, options: RequestOptions = {}): Promise<types.NewCredential> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/credentials/${inPath(kind)}/reset`, { body: unlessEmpty(body), idempotent: "key", options });
    return dataOf<types.NewCredential>(found);
  }
}
