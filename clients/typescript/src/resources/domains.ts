// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Domains extends Resource {
  /**
   * List the domains of an environment, newest first. Its preview host is not listed.
   *
   * Scopes: `domains:read`.
   */
  list(siteId: string, envId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Domain> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/domains`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Attach a domain to an environment.
   *
   * The domain is served, and gets a certificate, once it is verified: it points to this platform, or has the
   * TXT record in `challenge`. Read the domain to see what is missing. Public suffixes and names of the
   * platform are refused.
   *
   * `*.example.com` is every name directly below `example.com` that is not attached itself. It needs the DNS
   * zone of the domain here, and the TXT record in any case.
   *
   * Scopes: `domains:write`.
   */
  async attach(siteId: string, envId: string, body: types.NewDomain, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/domains`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Read a domain: whether it is verified, and otherwise what is missing.
   *
   * Scopes: `domains:read`.
   */
  async get(siteId: string, envId: string, domainId: string, options: RequestOptions = {}): Promise<types.Domain> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/domains/${inPath(domainId)}`, { options });
    return dataOf<types.Domain>(found);
  }

  /**
   * Detach a domain. The edges stop serving it within seconds. The primary domain cannot be detached.
   *
   * For 30 days, other accounts need the TXT record to attach the name.
   *
   * Scopes: `domains:write`.
   */
  async detach(siteId: string, envId: string, domainId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/domains/${inPath(domainId)}`, { idempotent: "natural", options });
  }

  /**
   * Look a domain up again now, at most every 10 seconds.
   *
   * A worker does so within seconds; read the domain to see the result. Pending domains are also looked up
   * automatically, less often with time, for 7 days.
   *
   * Scopes: `domains:write`.
   */
  async verify(siteId: string, envId: string, domainId: string, options: RequestOptions = {}): Promise<types.Domain> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/domains/${inPath(domainId)}/verify`, { idempotent: "key", options });
    return dataOf<types.Domain>(found);
  }

  /**
   * Make a verified domain of production the primary one, which is the `domain` of the site.
   *
   * The former primary domain stays attached.
   *
   * Scopes: `domains:write`.
   */
  async makePrimary(siteId: string, envId: string, domainId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/domains/${inPath(domainId)}/primary`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}
