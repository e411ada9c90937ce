// Generated from the API description by `make generate`.
import { followLive } from "../live.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { LiveEvent } from "../live.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Insights extends Resource {
  /**
   * Get the web vitals, and how fast the server answers.
   *
   * For a site, those of its production environment. Percentiles are of page views; with fewer than 50 of them
   * they are `null`.
   *
   * Scopes: `observability:read`.
   */
  async summaryOfEnvironment(siteId: string, envId: string, query: { days?: number | undefined; from?: string | null | undefined; to?: string | null | undefined } = {}, options: RequestOptions = {}): Promise<types.Summary> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/summary`, { query, options });
    return dataOf<types.Summary>(found);
  }

  /**
   * Get the web vitals, and how fast the server answers.
   *
   * For a site, those of its production environment. Percentiles are of page views; with fewer than 50 of them
   * they are `null`.
   *
   * Scopes: `observability:read`.
   */
  async summary(siteId: string, query: { days?: number | undefined; from?: string | null | undefined; to?: string | null | undefined } = {}, options: RequestOptions = {}): Promise<types.Summary> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/summary`, { query, options });
    return dataOf<types.Summary>(found);
  }

  /**
   * Get one of the web vitals over time.
   *
   * For a site, that of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async timeseriesOfEnvironment(siteId: string, envId: string, query: { days?: number | undefined; from?: string | null | undefined; to?: string | null | undefined; metric?: types.VitalMetric | undefined } = {}, options: RequestOptions = {}): Promise<types.Timeseries> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/timeseries`, { query, options });
    return dataOf<types.Timeseries>(found);
  }

  /**
   * Get one of the web vitals over time.
   *
   * For a site, that of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async timeseries(siteId: string, query: { days?: number | undefined; from?: string | null | undefined; to?: string | null | undefined; metric?: types.VitalMetric | undefined } = {}, options: RequestOptions = {}): Promise<types.Timeseries> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/timeseries`, { query, options });
    return dataOf<types.Timeseries>(found);
  }

  /**
   * List the pages with one of their web vitals.
   *
   * For a site, those of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async pagesOfEnvironment(siteId: string, envId: string, query: { days?: number | undefined; from?: string | null | undefined; to?: string | null | undefined; metric?: types.PagesMetric | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Pages> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/pages`, { query, options });
    return dataOf<types.Pages>(found);
  }

  /**
   * List the pages with one of their web vitals.
   *
   * For a site, those of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async pages(siteId: string, query: { days?: number | undefined; from?: string | null | undefined; to?: string | null | undefined; metric?: types.PagesMetric | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Pages> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/pages`, { query, options });
    return dataOf<types.Pages>(found);
  }

  /**
   * List the latest spans of traced requests.
   *
   * For a site, those of its production environment. `trace_sample_rate` says how many requests of the
   * application are traced. Requests that fail or take longer than a second always are.
   *
   * Scopes: `observability:read`.
   */
  async tracesOfEnvironment(siteId: string, envId: string, query: { hours?: number | undefined; status?: "error" | null | undefined; min_duration_ms?: number | null | undefined; service?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Traces> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/traces`, { query, options });
    return dataOf<types.Traces>(found);
  }

  /**
   * List the latest spans of traced requests.
   *
   * For a site, those of its production environment. `trace_sample_rate` says how many requests of the
   * application are traced. Requests that fail or take longer than a second always are.
   *
   * Scopes: `observability:read`.
   */
  async traces(siteId: string, query: { hours?: number | undefined; status?: "error" | null | undefined; min_duration_ms?: number | null | undefined; service?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Traces> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/traces`, { query, options });
    return dataOf<types.Traces>(found);
  }

  /**
   * Get a trace, span by span.
   *
   * For a site, one of its production environment. A request that was not traced has no spans, nor has one
   * whose spans have not arrived yet.
   *
   * Scopes: `observability:read`.
   */
  async traceOfEnvironment(siteId: string, envId: string, traceId: string, options: RequestOptions = {}): Promise<types.Trace> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/traces/${inPath(traceId)}`, { options });
    return dataOf<types.Trace>(found);
  }

  /**
   * Get a trace, span by span.
   *
   * For a site, one of its production environment. A request that was not traced has no spans, nor has one
   * whose spans have not arrived yet.
   *
   * Scopes: `observability:read`.
   */
  async trace(siteId: string, traceId: string, options: RequestOptions = {}): Promise<types.Trace> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/traces/${inPath(traceId)}`, { options });
    return dataOf<types.Trace>(found);
  }

  /**
   * List the latest requests of visitors.
   *
   * For a site, those of its production environment. Every request is there, none are sampled. Addresses are
   * cut to networks, and query strings are not recorded.
   *
   * With `Accept: text/event-stream`: an event `request` for each new one that meets the filters.
   *
   * Scopes: `observability:read`.
   */
  async requestsOfEnvironment(siteId: string, envId: string, query: { hours?: number | undefined; method?: string | null | undefined; status?: string | null | undefined; q?: string | null | undefined; bots?: types.Bots | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Requests> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/requests`, { query, options });
    return dataOf<types.Requests>(found);
  }

  /**
   * Follow what is new: list the latest requests of visitors.
   *
   * It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what arrived
   * meanwhile is missing.
   */
  followRequestsOfEnvironment(siteId: string, envId: string, query: { hours?: number | undefined; method?: string | null | undefined; status?: string | null | undefined; q?: string | null | undefined; bots?: types.Bots | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): AsyncGenerator<LiveEvent<types.Request>, void, undefined> {
    return followLive<types.Request>(this.transport, `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/requests`, query, options);
  }

  /**
   * List the latest requests of visitors.
   *
   * For a site, those of its production environment. Every request is there, none are sampled. Addresses are
   * cut to networks, and query strings are not recorded.
   *
   * With `Accept: text/event-stream`: an event `request` for each new one that meets the filters.
   *
   * Scopes: `observability:read`.
   */
  async requests(siteId: string, query: { hours?: number | undefined; method?: string | null | undefined; status?: string | null | undefined; q?: string | null | undefined; bots?: types.Bots | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Requests> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/requests`, { query, options });
    return dataOf<types.Requests>(found);
  }

  /**
   * Follow what is new: list the latest requests of visitors.
   *
   * It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what arrived
   * meanwhile is missing.
   */
  followRequests(siteId: string, query: { hours?: number | undefined; method?: string | null | undefined; status?: string | null | undefined; q?: string | null | undefined; bots?: types.Bots | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): AsyncGenerator<LiveEvent<types.Request>, void, undefined> {
    return followLive<types.Request>(this.transport, `/v1/sites/${inPath(siteId)}/insights/requests`, query, options);
  }

  /**
   * Count the requests and errors over time.
   *
   * For a site, those of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async requestsVolumeOfEnvironment(siteId: string, envId: string, query: { hours?: number | undefined; bots?: types.Bots | undefined } = {}, options: RequestOptions = {}): Promise<types.RequestVolume> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/requests/volume`, { query, options });
    return dataOf<types.RequestVolume>(found);
  }

  /**
   * Count the requests and errors over time.
   *
   * For a site, those of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async requestsVolume(siteId: string, query: { hours?: number | undefined; bots?: types.Bots | undefined } = {}, options: RequestOptions = {}): Promise<types.RequestVolume> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/requests/volume`, { query, options });
    return dataOf<types.RequestVolume>(found);
  }

  /**
   * List the latest log lines of the application.
   *
   * For a site, those of its production environment. Static sites have no application, and no lines.
   *
   * With `Accept: text/event-stream`: an event `line` for each new one that meets the filters.
   *
   * Scopes: `observability:read`.
   */
  async logsOfEnvironment(siteId: string, envId: string, query: { hours?: number | undefined; limit?: number | undefined; severity?: types.LogSeverity | null | undefined; container?: string | null | undefined; q?: string | null | undefined; trace_id?: string | null | undefined } = {}, options: RequestOptions = {}): Promise<types.Logs> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/logs`, { query, options });
    return dataOf<types.Logs>(found);
  }

  /**
   * Follow what is new: list the latest log lines of the application.
   *
   * It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what arrived
   * meanwhile is missing.
   */
  followLogsOfEnvironment(siteId: string, envId: string, query: { hours?: number | undefined; limit?: number | undefined; severity?: types.LogSeverity | null | undefined; container?: string | null | undefined; q?: string | null | undefined; trace_id?: string | null | undefined } = {}, options: RequestOptions = {}): AsyncGenerator<LiveEvent<types.LogLine>, void, undefined> {
    return followLive<types.LogLine>(this.transport, `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/logs`, query, options);
  }

  /**
   * List the latest log lines of the application.
   *
   * For a site, those of its production environment. Static sites have no application, and no lines.
   *
   * With `Accept: text/event-stream`: an event `line` for each new one that meets the filters.
   *
   * Scopes: `observability:read`.
   */
  async logs(siteId: string, query: { hours?: number | undefined; limit?: number | undefined; severity?: types.LogSeverity | null | undefined; container?: string | null | undefined; q?: string | null | undefined; trace_id?: string | null | undefined } = {}, options: RequestOptions = {}): Promise<types.Logs> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/logs`, { query, options });
    return dataOf<types.Logs>(found);
  }

  /**
   * Follow what is new: list the latest log lines of the application.
   *
   * It ends when you stop. After a broken connection it goes on with an event `reconnected`, and what arrived
   * meanwhile is missing.
   */
  followLogs(siteId: string, query: { hours?: number | undefined; limit?: number | undefined; severity?: types.LogSeverity | null | undefined; container?: string | null | undefined; q?: string | null | undefined; trace_id?: string | null | undefined } = {}, options: RequestOptions = {}): AsyncGenerator<LiveEvent<types.LogLine>, void, undefined> {
    return followLive<types.LogLine>(this.transport, `/v1/sites/${inPath(siteId)}/insights/logs`, query, options);
  }

  /**
   * Count the log lines over time, by severity.
   *
   * For a site, those of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async logsVolumeOfEnvironment(siteId: string, envId: string, query: { hours?: number | undefined; severity?: types.LogVolumeSeverity | null | undefined } = {}, options: RequestOptions = {}): Promise<types.LogVolume> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/logs/volume`, { query, options });
    return dataOf<types.LogVolume>(found);
  }

  /**
   * Count the log lines over time, by severity.
   *
   * For a site, those of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async logsVolume(siteId: string, query: { hours?: number | undefined; severity?: types.LogVolumeSeverity | null | undefined } = {}, options: RequestOptions = {}): Promise<types.LogVolume> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/logs/volume`, { query, options });
    return dataOf<types.LogVolume>(found);
  }

  /**
   * Get what the containers use, and how the application answers, over time.
   *
   * For a site, those of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async resourcesOfEnvironment(siteId: string, envId: string, query: { hours?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Resources> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/insights/resources`, { query, options });
    return dataOf<types.Resources>(found);
  }

  /**
   * Get what the containers use, and how the application answers, over time.
   *
   * For a site, those of its production environment.
   *
   * Scopes: `observability:read`.
   */
  async resources(siteId: string, query: { hours?: number | undefined } = {}, options: RequestOptions = {}): Promise<types.Resources> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/insights/resources`, { query, options });
    return dataOf<types.Resources>(found);
  }
}
