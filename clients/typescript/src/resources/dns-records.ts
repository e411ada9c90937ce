// Generated from the API description by `make generate`.
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class DnsRecords extends Resource {
  /**
   * List the DNS records of a site, newest first. Those that the platform adds itself are not listed.
   *
   * Scopes: `domains:read`.
   */
  list(siteId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Record> {
    const path = `/v1/sites/${inPath(siteId)}/dns/records`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create a DNS record in the zone of a site, which is its domain without `www`.
   *
   * The platform adds the addresses of every domain of the site itself, also at the top of the zone. The zone
   * is served once the domain is verified, and counts once the domain is delegated to the name servers of the
   * platform.
   *
   * Scopes: `domains:write`.
   */
  async create(siteId: string, body: types.NewRecord, options: RequestOptions = {}): Promise<types.Record> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/dns/records`, { body, idempotent: "key", options });
    return dataOf<types.Record>(found);
  }

  /**
   * Read a DNS record, and whether the name servers have it.
   *
   * Scopes: `domains:read`.
   */
  async get(siteId: string, recordId: string, options: RequestOptions = {}): Promise<types.Record> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/dns/records/${inPath(recordId)}`, { options });
    return dataOf<types.Record>(found);
  }

  /**
   * Change the value, the TTL or the priority of a DNS record.
   *
   * Scopes: `domains:write`.
   */
  async update(siteId: string, recordId: string, body: types.RecordChange = {}, options: RequestOptions = {}): Promise<types.Record> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/dns/records/${inPath(recordId)}`, { body, idempotent: "none", options });
    return dataOf<types.Record>(found);
  }

  /**
   * Delete a DNS record.
   *
   * Scopes: `domains:write`.
   */
  async delete(siteId: string, recordId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/dns/records/${inPath(recordId)}`, { idempotent: "natural", options });
  }
}
