// Generated from the API description by `make generate`.
/** The objects of the API, and its enums. Every enum may get more values. */

export type Action = "activate" | "deactivate" | "delete" | "update" | (string & {});

export type ActorKind = "api_key" | "member" | "system" | (string & {});

export type AuditEventOutcome = "denied" | "success" | (string & {});

export type BindingKind = "coord" | "cron" | "fetch" | "kv" | "service" | (string & {});

export type Bots = "exclude" | "include" | (string & {});

export type BranchRuleTarget = "ignore" | "live" | "preview" | "staging" | (string & {});

export type BuildStatus = "failed" | "queued" | "running" | "succeeded" | (string & {});

export type CapabilitiesRuntime = "cms" | "static" | "wasm" | (string & {});

export type Category = "backup" | "billing" | "build" | "deploy" | "environment" | "function" | "job" | "security" | "site" | "team" | "webhook" | (string & {});

export type Cause = "change" | "on_demand" | "scheduled" | (string & {});

export type ClassBucketClass = "create" | "read" | "write" | (string & {});

export type CommandShell = "bash" | "cms-cli" | (string & {});

export type ComponentKind = "module" | "plugin" | "theme" | (string & {});

export type ComponentOperationKind = "module" | "plugin" | "theme" | (string & {});

export type ComponentStatus = "active" | "inactive" | (string & {});

export type ComponentType = "drop_in" | "must_use" | "regular" | (string & {});

export type ComponentUpdateStatus = "active" | "inactive" | (string & {});

export type ContentDetailType = "media" | "page" | "post" | (string & {});

export type ContentFilterStatus = "draft" | "future" | "pending" | "private" | "publish" | "trash" | (string & {});

export type ContentOperationAction = "create" | "delete" | "update" | (string & {});

export type ContentStatus = "draft" | "future" | "pending" | "private" | "publish" | (string & {});

export type ContentType = "media" | "page" | "post" | (string & {});

export type CredentialKind = "database" | "sftp" | (string & {});

export type Delegation = "complete" | "none" | "partial" | "unknown" | (string & {});

export type DeliveryStatus = "delivered" | "failed" | "pending" | (string & {});

export type DeploymentKind = "clone" | "deploy" | "promote" | "push" | "refresh" | "restore" | "rollback" | (string & {});

export type DeploymentStatus = "deploying" | "failed" | "live" | "pending" | "superseded" | (string & {});

export type DetectionStatus = "detected" | "dismissed" | "ignored" | "quarantine_failed" | "quarantined" | "restored" | (string & {});

export type Device = "bot" | "desktop" | "mobile" | "other" | "tablet" | (string & {});

export type DomainStatus = "failed" | "pending" | "verified" | (string & {});

export type EngineStatus = "error" | "ok" | "unknown" | (string & {});

export type EnvironmentStatus = "deleted" | "deleting" | "failed" | "provisioning" | "running" | "suspended" | "suspending" | (string & {});

export type EnvironmentType = "branch" | "production" | "staging" | (string & {});

export type Forge = "gitea" | "github" | "gitlab" | (string & {});

export type ForgeKind = "gitea" | "github" | "gitlab" | (string & {});

export type FunctionBuildStatus = "" | "building" | "deploying" | "failed" | "live" | (string & {});

export type InventoryStatus = "complete" | "missing" | "unknown_versions" | (string & {});

export type JobStatus = "failed" | "queued" | "running" | "succeeded" | (string & {});

export type KeyMode = "live" | "test" | (string & {});

export type Language = "c" | "go" | "javascript" | "rust" | "swift" | "tinygo" | "typescript" | "zig" | (string & {});

export type LastBackupStatus = "failed" | "never" | "succeeded" | (string & {});

export type LastScanOutcome = "clean" | "error" | "infected" | (string & {});

export type LogSeverity = "DEBUG" | "ERROR" | "INFO" | "WARN" | (string & {});

export type LogTailSeverity = "DEBUG" | "ERROR" | "INFO" | "WARN" | (string & {});

export type LogVolumeSeverity = "DEBUG" | "ERROR" | "INFO" | "WARN" | (string & {});

export type Name = "bytes_in" | "bytes_out" | "cache_hit_pct" | "client_errors" | "errors" | "first_byte_p75_ms" | "first_byte_p95_ms" | "requests" | (string & {});

export type NewEnvironmentType = "branch" | "staging" | (string & {});

export type PagesMetric = "CLS" | "FCP" | "INP" | "LCP" | "TTFB" | (string & {});

export type PasswordDelivery = "none" | "reset_mail" | "response" | (string & {});

export type PhpSwitchVersion = "8.2" | "8.3" | "8.4" | "8.5" | (string & {});

export type PhpVersion = "8.2" | "8.3" | "8.4" | "8.5" | (string & {});

export type PinType = "environment" | "project" | "site" | "team" | (string & {});

export type PreviewProtection = "none" | "password" | "team" | (string & {});

export type Profile = "git_managed" | "static" | "vanilla" | "wasm" | (string & {});

export type PurgeType = "all" | "tag" | "url" | (string & {});

export type PushMode = "db" | "files" | "full" | (string & {});

export type Rating = "good" | "needs_improvement" | "not_enough_data" | "poor" | (string & {});

export type RecordType = "A" | "AAAA" | "CAA" | "CNAME" | "MX" | "NS" | "SRV" | "TXT" | (string & {});

export type RedirectRuleCode = 301 | 302 | 307 | 308 | (number & {});

export type ReleaseStatus = "deploying" | "failed" | "live" | "pending" | "superseded" | (string & {});

export type Role = "admin" | "billing" | "observer" | "owner" | "site_manager" | (string & {});

export type RuntimeStatus = "available" | "planned" | (string & {});

export type ScanKind = "full" | "incremental" | (string & {});

export type ScanStatus = "clean" | "error" | "infected" | "running" | (string & {});

export type Scope = "*" | "account:*" | "account:admin" | "account:read" | "account:write" | "audit:*" | "audit:read" | "backups:*" | "backups:read" | "backups:write" | "cache:*" | "cache:write" | "cms.cli:*" | "cms.cli:exec" | "cms.content:*" | "cms.content:read" | "cms.content:write" | "cms.plugins:*" | "cms.plugins:read" | "cms.plugins:write" | "cms.themes:*" | "cms.themes:read" | "cms.themes:write" | "cms.users:*" | "cms.users:read" | "cms.users:write" | "credentials:read" | "credentials:write" | "cron:*" | "cron:read" | "cron:write" | "db:*" | "db:read" | "db:write" | "deployments:*" | "deployments:read" | "deployments:write" | "domains:*" | "domains:read" | "domains:write" | "environments:*" | "environments:read" | "environments:write" | "events:*" | "events:read" | "exec:raw" | "functions:*" | "functions:read" | "functions:write" | "jobs:*" | "jobs:read" | "keys:read" | "keys:write" | "notifications:*" | "notifications:read" | "notifications:write" | "observability:*" | "observability:read" | "redirects:*" | "redirects:read" | "redirects:write" | "runtime:*" | "runtime:write" | "secrets:*" | "secrets:read" | "secrets:write" | "security:*" | "security:read" | "security:write" | "sites:*" | "sites:admin" | "sites:read" | "sites:write" | "teams:*" | "teams:admin" | "teams:read" | "teams:write" | "tls:*" | "tls:read" | "tls:write" | "vulnerabilities:*" | "vulnerabilities:read" | "webhooks:*" | "webhooks:read" | "webhooks:write" | (string & {});

export type ServeModel = "container" | "static" | "wasm" | (string & {});

export type Severity = "critical" | "error" | "info" | "warning" | (string & {});

export type SiteRuntime = "cms" | "static" | "wasm" | (string & {});

export type SiteStatus = "awaiting_push" | "deleted" | "deleting" | "failed" | "provisioning" | "running" | "stopped" | (string & {});

export type SnapshotKind = "before_push" | "before_quarantine" | "before_restore" | "before_switch" | "before_update" | "on_demand" | "scheduled" | "site_deleted" | (string & {});

export type Source = "database" | "file" | (string & {});

export type SpanStatus = "error" | "ok" | (string & {});

export type TimeseriesMetric = "CLS" | "FCP" | "INP" | "LCP" | "TTFB" | (string & {});

export type TlsErrorCode = "ca_rate_limited" | "ca_refused" | "ca_unreachable" | "ca_untrusted" | "caa" | "challenge_failed" | "dns" | "dns_unanswered" | "edges" | "internal" | "zone" | (string & {});

export type TlsState = "expired" | "not_registered" | "pending" | "unconfigured" | "valid" | (string & {});

export type VitalMetric = "CLS" | "FCP" | "INP" | "LCP" | "TTFB" | (string & {});

export type WafEngineMode = "detection" | "off" | "on" | (string & {});

export interface Acceptance {
  token: string;
}

export interface Accepted {
  team_id: string;
  role: Role;
}

export interface Account {
  id: string;
  email: string;
  name: string;
  default_team_id: string | null;
  role: string;
  plan: string;
  /** The scopes of the key, or `["*"]` for a session. */
  scopes: string[];
}

/** Only the fields that are sent change. `null` clears an optional field. */
export interface AccountChange {
  name?: string;
  default_team_id?: string | null;
  billing_cc_email?: string | null;
  /**
   * Requires `current_password`. The address changes when it has been confirmed with the token that is sent to
   * it.
   */
  new_email?: string;
  /** Requires `current_password`. */
  new_password?: string;
  current_password?: string;
}

export interface AccountClosure {
  current_password: string;
}

export interface AppPoint {
  /** When the bucket begins. */
  ts: string;
  requests: number;
  /** With a status of 500 and above. */
  errors: number;
  first_byte_p75_ms: number | null;
  network_in_bytes: number;
  network_out_bytes: number;
}

export interface Artifact {
  id: string;
  /** The SHA-256 of its OCI manifest. */
  digest: string;
  /** The key that signed the provenance. */
  signature_ref: string;
  serve_model: ServeModel;
  /** The branch or tag it was built from. */
  ref: string | null;
  commit: string | null;
  build_id: string | null;
  /** The size of its compressed files. */
  size_bytes: number;
  created_at: string;
}

export interface Assignment {
  site_id: string;
}

/** One attempt of a delivery. */
export interface Attempt {
  at: string;
  /** The HTTP status; null if there was no response. */
  status: number | null;
  duration_ms: number;
  error: string | null;
  /** The beginning of the response body. */
  excerpt: string | null;
}

export interface AuditEvent {
  id: string;
  event: string;
  outcome: AuditEventOutcome;
  actor_kind: ActorKind;
  /** The person, also if an API key was used. */
  actor_user_id: string | null;
  actor_email: string | null;
  actor_key_id: string | null;
  team_id: string | null;
  site_id: string | null;
  meta: { [name: string]: unknown };
  created_at: string;
}

export interface BackupStatusRow {
  site_id: string;
  slug: string;
  domain: string;
  latest_snapshot_at: string | null;
  snapshot_age_seconds: number | null;
  /** Of the latest snapshot. */
  size_bytes: number | null;
  /** How the last attempt ended. */
  last_backup_status: LastBackupStatus;
}

export interface Backups {
  /** Whether there are more sites than the response has. */
  truncated: boolean;
  sites: BackupStatusRow[];
}

export interface Binding {
  /** `cron` is refused: there are no scheduled functions. */
  kind: BindingKind;
  /** The name in `env`. */
  name: string;
  config?: BindingConfig;
}

/** Which fields it has depends on the kind of the binding. */
export interface BindingConfig {
  /** Of `kv` and `coord`: functions of the site with the same namespace share its data. */
  namespace?: string;
  /** Of `fetch`: `host`, `*.host` or `host:port`. */
  allow?: string[];
  /** Of `service`: the slug of another function of the site. */
  function?: string;
}

export interface BranchRoutes {
  rules: BranchRule[];
  /** The URL to enter as a webhook in the forge. */
  hook_url: string;
  /** Whether the hook has a secret. Without one, all deliveries are refused. */
  hook_secret_set: boolean;
  /** The site's public key for a repository over ssh; null without a repository. */
  deploy_key: string | null;
  /** When the last hook delivery arrived. */
  last_hook_at: string | null;
  /** When the repository was last polled for its branches. */
  last_checked_at: string | null;
  /** Why the last poll failed, if it did. */
  last_error: string | null;
  /** The kind of forge that is told about builds; null if it has no token. */
  forge: Forge | null;
  /** Why the forge could not be told, if it could not. */
  forge_error: string | null;
  /** Returned only once, when it is created. */
  hook_secret?: string;
}

export interface BranchRule {
  /** The name of a branch, or a glob: `*` matches anything except `/`, `**` matches anything. */
  pattern: string;
  /**
   * The environment that is built: `live` and `staging` are those of the site; `preview` is created for the
   * branch; `ignore` builds nothing.
   */
  target: BranchRuleTarget;
}

export interface Bucket {
  limit: number;
  remaining: number;
  /** Unix time at which the full limit is available again. */
  reset: number;
}

export interface Build {
  id: string;
  env_id: string;
  status: BuildStatus;
  builder: string;
  /** `git`, the id of an upload, or the URL of an archive without its query. */
  source: string;
  /** The branch or tag it was built from. */
  ref: string | null;
  commit: string | null;
  /** The author of the commit. */
  author: string | null;
  /** The message of the commit. */
  message: string | null;
  /** Set once the build has succeeded. */
  artifact_id: string | null;
  job_id: string | null;
  auto_deploy: boolean;
  /** Why the build failed, or why its artifact was not deployed. */
  error: string | null;
  /** Nothing was built, because nothing that the live release is built from has changed. */
  skipped: boolean;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface Capabilities {
  runtime: CapabilitiesRuntime;
  capabilities: { [name: string]: Capability };
}

export interface Capability {
  supported: boolean;
  actions?: string[];
  kind?: string;
  engine?: string;
  shells?: string[];
  selectors?: string[];
}

/** A DNS record that proves who has the name. It may be removed once the name is verified. */
export interface Challenge {
  type: "TXT";
  name: string;
  value: string;
}

export interface ClassBucket {
  limit: number;
  remaining: number;
  /** Unix time at which the full limit is available again. */
  reset: number;
  class: ClassBucketClass;
}

export interface ClosedAccount {
  closed_at: string;
  /** How many sites of the account are deleted now. */
  sites: number;
  /**
   * When the content of the sites and the personal data of the account are erased. Until then the operator can
   * open the account again.
   */
  erased_at: string;
}

export interface CmsUser {
  /** The number of the user in WordPress. */
  id: string;
  login: string;
  email: string;
  display_name: string;
  first_name: string;
  last_name: string;
  roles: string[];
  registered_at: string | null;
}

/** Fields that are left out stay as they are. */
export interface CmsUserChange {
  email?: string;
  /** The name of a role of the site. An administrator can install plugins, and so run code. */
  role?: string;
  display_name?: string;
  first_name?: string;
  last_name?: string;
  /**
   * `reset_mail`: WordPress sends a mail with a link to choose a password. `response`: a new random password
   * is in this response, and nowhere else. `none`: the user can ask for a mail on the sign-in page.
   */
  password_delivery?: PasswordDelivery;
}

export interface CmsUserWithPassword {
  /** The number of the user in WordPress. */
  id: string;
  login: string;
  email: string;
  display_name: string;
  first_name: string;
  last_name: string;
  roles: string[];
  registered_at: string | null;
  /** Only if `password_delivery` is `response`. It is shown once. */
  password?: string | null;
}

export interface Component {
  id: string;
  kind: ComponentKind;
  /** `must_use` and `drop_in` plugins are always active. WordPress cannot deactivate or update them. */
  type: ComponentType;
  slug: string;
  name: string;
  version: string;
  status: ComponentStatus;
  /** The version that WordPress offers. */
  update_available: string | null;
  site_id: string;
  env_id: string;
}

export interface ComponentBatch {
  operations: ComponentOperation[];
}

export interface ComponentOperation {
  action: Action;
  kind: ComponentOperationKind;
  slug: string;
  /** `latest`, or a version. */
  version?: string;
  /** Also a version that has a known vulnerability. */
  force?: boolean;
}

/** A version, a status, or both. */
export interface ComponentUpdate {
  /** `latest`, or a version. */
  version?: string;
  status?: ComponentUpdateStatus;
  /** Also a version that has a known vulnerability. */
  force?: boolean;
}

export interface Configuration {
  security: Security;
  performance: Performance;
  observability: Observability;
  serving: Serving;
}

/** Fields that are not sent keep their value; null restores the inherited or default value. */
export interface ConfigurationChange {
  security?: SecurityChange;
  performance?: PerformanceChange;
  observability?: ObservabilityChange;
  serving?: ServingChange;
}

export interface ContainerPoint {
  /** When the bucket begins. */
  ts: string;
  /** 100 is one processor. */
  cpu_pct: number;
  /** The highest in the bucket. */
  memory_bytes: number;
  /** `null` without a limit. */
  memory_limit_bytes: number | null;
}

export interface ContainerSeries {
  container: string;
  /** Oldest first; there is none while the container did not run. */
  points: ContainerPoint[];
}

export interface Content {
  /** The number of the post in WordPress. */
  id: string;
  type: ContentType;
  /** `publish`, `draft`, `pending`, `private`, `future`, `trash`, or one of a plugin. */
  status: string;
  title: string;
  slug: string;
  modified_at: string | null;
  /** Null for a draft without a date. */
  date: string | null;
  /** The id of a user of the site. */
  author: string;
  url: string;
}

export interface ContentBatch {
  operations: ContentOperation[];
}

/** Fields that are left out stay as they are. A status takes content out of the trash. */
export interface ContentChange {
  title?: string;
  /** Blocks or HTML, as WordPress stores it. Scripts and other unsafe HTML are removed. */
  content?: string;
  excerpt?: string;
  slug?: string;
  status?: ContentStatus;
  /** When it was or will be published. A time in the future needs the status `future`. */
  date?: string;
  /** The id of a user. */
  author?: string;
  /** The id of a page. */
  parent?: string;
  /** The id of a file. */
  featured_media?: string;
  /** Replaces the terms of each taxonomy that is named. */
  terms?: NewTerms[];
  /** Only values that a plugin has registered for the REST API. */
  meta?: NewMeta[];
}

export interface ContentDetail {
  /** The number of the post in WordPress. */
  id: string;
  type: ContentDetailType;
  /** `publish`, `draft`, `pending`, `private`, `future`, `trash`, or one of a plugin. */
  status: string;
  title: string;
  slug: string;
  modified_at: string | null;
  /** Null for a draft without a date. */
  date: string | null;
  /** The id of a user of the site. */
  author: string;
  url: string;
  content: string;
  excerpt: string;
  /** The page above a page. */
  parent: string | null;
  featured_media: string | null;
  terms: Terms[];
  /** Values that plugins have registered for the REST API. */
  meta: Meta[];
  /** Of media. */
  mime_type: string | null;
  /** Of media. */
  file_url: string | null;
}

/** `create` needs `new`; `update` needs `id` and `change`; `delete` needs `id`. */
export interface ContentOperation {
  action: ContentOperationAction;
  id?: string;
  new?: NewContent;
  change?: ContentChange;
}

export interface CreatedInvite {
  id: string;
  role: Role;
  email: string | null;
  expires_at: string;
  created_at: string;
  /** Returned only once. Send it to the person you invite. */
  token: string;
}

export interface CreatedTeam {
  team_id: string;
}

export interface Credentials {
  /** Those that can be entered. A site without processes has none. */
  environments: EnvironmentAccess[];
}

export interface Cron {
  id: string;
  hook: string;
  /** A recurrence, or the time of an event that runs once. */
  schedule: string;
  /** The platform runs it within about a minute, also while the site sleeps. */
  next_run_at: string;
  /** Of a repeated event. */
  interval_seconds: number | null;
  /** Values that are not text are JSON. */
  args: string[];
}

/** Fields that are left out stay as they are. */
export interface CronChange {
  /** The name of a recurrence of the site, such as `hourly` or `daily`, or the time of an event that runs once. */
  schedule?: string;
  /** What the hook is called with. */
  args?: (string | number | boolean | null)[];
}

export interface Database {
  engine: string;
  version: string;
  size_bytes: number;
  tables: Table[];
}

export interface DatabaseAddress {
  /** As seen from the SSH server: the target of a tunnel. */
  host: string;
  port: number;
  /** For people. The site itself has another one. */
  user: string;
  /** It changes when the environment gets other data: with a refresh, a reset or a push. */
  name: string;
  /** Whether the user exists: it is created with its first password, which is never returned. */
  has_password: boolean;
  password_created_at: string | null;
}

export interface Deletion {
  /** The domain of the site, to confirm the deletion. */
  confirm_domain: string;
}

export interface Delivery {
  id: string;
  event_id: string;
  status: DeliveryStatus;
  attempts: number;
  response_status: number | null;
  last_error: string | null;
  created_at: string;
  delivered_at: string | null;
  next_attempt_at: string | null;
  /** The most recent attempts, oldest first. */
  log: Attempt[];
}

export interface Deployment {
  id: string;
  env_id: string;
  artifact_id: string;
  /** The SHA-256 of its OCI manifest. */
  digest: string;
  /** The branch or tag it was built from. */
  ref: string | null;
  commit: string | null;
  /** What created the deployment. */
  kind: DeploymentKind;
  /** The deployment whose release it repeats. */
  from_deployment_id: string | null;
  status: DeploymentStatus;
  /** Why the deployment failed. */
  reason: string | null;
  job_id: string | null;
  created_at: string;
  /** When the deployment became live. */
  deployed_at: string | null;
  /** Since when it is live; null for all other deployments. */
  current_since: string | null;
  /**
   * Always shows this deployment, whatever the environment serves now. The latest ten deployments of an
   * environment of a static site have one.
   */
  url: string | null;
}

export interface Detection {
  id: string;
  site_id: string;
  env_id: string;
  scan_id: string;
  source: Source;
  /** Below the site, or the table and row: `database:posts/12`. */
  path: string;
  signature: string;
  /** `clamav`, `yara`, `inventory` or `database`. */
  engine: string;
  /** Where the signature matches. */
  detail: string;
  sha256: string;
  status: DetectionStatus;
  /** Why the file was not moved, or not restored. */
  reason: string | null;
  /** The job that restores the file, or was the last to try. */
  restore_job_id: string | null;
  detected_at: string;
  updated_at: string;
}

/** What a person sees before they approve. */
export interface DeviceAuthorization {
  /** What the device shows, and people compare. */
  user_code: string;
  machine_name: string;
  /** The address or network that the device asked from. */
  network: string;
  scopes: Scope[];
  created_at: string;
  expires_at: string;
}

/** The key of a device whose sign-in was approved. */
export interface DeviceToken {
  key_id: string;
  name: string | null;
  account_id: string;
  email: string;
  scopes: Scope[];
  expires_at: string;
  /** Returned only once; stored only as a hash. */
  secret: string;
}

export interface DeviceTokenRequest {
  /** The secret of the device. Nobody else may know it. */
  device_code: string;
}

export interface Domain {
  id: string;
  hostname: string;
  /** It is the `domain` of the site. */
  primary: boolean;
  /** Visitors are redirected to the primary domain, with the same path. */
  redirect_to_primary: boolean;
  /**
   * `pending`: looked up repeatedly until it is proved. `verified`: served. `failed`: not proved within 7
   * days, or proved by another account; `verify` starts again.
   */
  status: DomainStatus;
  /** What was looked up and found, and what to do. Null once the name is verified. */
  reason: string | null;
  /**
   * A DNS record that proves the name, also before it points here. Null once it was found. A name that is
   * verified because it points here needs it only to have its DNS zone here.
   */
  challenge: Challenge | null;
  tls: Tls;
  created_at: string;
}

export interface EmailVerification {
  /** From the email. */
  token: string;
  /**
   * The password of the sign-up. Required if the token was sent because of one: it shows that the sign-up is
   * yours, and not of somebody else who used your address.
   */
  password?: string | null;
}

export interface Endpoint {
  id: string;
  /** HTTPS, port 443 or 8443, publicly reachable. */
  url: string;
  /** `*`, event types, or `category:<name>` for all current and future types of a category. */
  event_types: string[];
  description: string | null;
  enabled: boolean;
  /** Why the endpoint was disabled automatically. */
  disabled_reason: string | null;
  created_at: string;
}

export interface EndpointChange {
  /** HTTPS, port 443 or 8443, publicly reachable. */
  url?: string;
  /** `*`, event types, or `category:<name>` for all current and future types of a category. */
  event_types?: string[];
  description?: string | null;
  enabled?: boolean;
}

export interface Engine {
  /** Of the last scan; `unknown` before the first one. */
  status: EngineStatus;
  clamav: string;
  rules: string;
}

export interface Environment {
  id: string;
  site_id: string;
  /** `production` is returned only when it is requested by that name. */
  type: EnvironmentType;
  branch: string | null;
  /** The branch or tag of the live release. */
  git_ref: string | null;
  subdomain: string;
  status: EnvironmentStatus;
  /** Why the environment is `failed`. */
  status_reason: string | null;
  /** The time of the last visit. */
  last_active: string | null;
  /** Why nothing is deployed to the environment. */
  lock_reason: string | null;
  /** Since when it is locked. */
  locked_at: string | null;
  created_at: string;
}

export interface EnvironmentAccess {
  env_id: string;
  type: string;
  branch: string | null;
  ssh: SshAddress;
  sftp: SftpAddress;
  database: DatabaseAddress;
}

export interface EnvironmentConfiguration {
  inherited: Configuration;
  override: Override;
  effective: Configuration;
}

export interface Event {
  id: string;
  type: string;
  /** Null if the event does not concern a site. */
  site_id: string | null;
  /** Null if the event does not concern an environment. */
  env_id: string | null;
  job_id: string | null;
  /** The payload; its fields depend on `type`. */
  data: { [name: string]: unknown };
  created_at: string;
}

export interface EventType {
  type: string;
  category: Category;
  title: string;
  severity: Severity;
  /** Whether the event creates a notification. */
  in_app: boolean;
  /** Whether the notification is also sent by email. */
  email: boolean;
  /** JSON Schema of `data`. */
  schema: { [name: string]: unknown };
  /** An example of `data`. */
  example: { [name: string]: unknown };
}

export interface EventTypes {
  event_types: EventType[];
}

export interface Function {
  id: string;
  site_id: string;
  /** Lowercase letters, digits and hyphens; unique in the site. */
  slug: string;
  display_name: string;
  language: Language;
  bindings: Binding[];
  /** Variables of the function. For secrets, use `secret_refs`. */
  env: { [name: string]: string };
  /** Keys of secrets of the production environment, which the function reads as variables. */
  secret_refs: string[];
  limits: Limits;
  /** The path that the function answers, and everything below it; `/_fn/<slug>` if empty. */
  route_path: string;
  /**
   * Whether every request gets an instance of its own. Otherwise an instance handles up to 1,000 requests, one
   * at a time.
   */
  fresh_instances: boolean;
  /**
   * The interfaces of the platform behave as they did on this day, whatever changes later. Applies from the
   * next build on.
   */
  compatibility_date: string;
  /** Where it answers when it is deployed. */
  url: string;
  build_status: FunctionBuildStatus;
  /** Why the last build or deployment failed. */
  status_reason: string | null;
  active_version_id: string | null;
  last_build_job_id: string | null;
  last_artifact_id: string | null;
  created_at: string;
  updated_at: string;
}

/** Absent fields stay as they are. */
export interface FunctionChange {
  display_name?: string;
  bindings?: Binding[];
  /** Keys of secrets of the production environment, which the function reads as variables. */
  secret_refs?: string[];
  /** Variables of the function. For secrets, use `secret_refs`. */
  env?: { [name: string]: string };
  limits?: Limits;
  /** The path that the function answers, and everything below it; `/_fn/<slug>` if empty. */
  route_path?: string;
  /**
   * Whether every request gets an instance of its own. Otherwise an instance handles up to 1,000 requests, one
   * at a time.
   */
  fresh_instances?: boolean;
  /**
   * The interfaces of the platform behave as they did on this day, whatever changes later. Applies from the
   * next build on.
   */
  compatibility_date?: string;
}

export interface FunctionRollback {
  /** A version of this function. */
  version_id: string;
}

export interface FunctionVersion {
  id: string;
  artifact_id: string;
  /** The SHA-256 of its OCI manifest. */
  digest: string;
  created_at: string;
  /** Whether visitors get this version. */
  active: boolean;
}

/** Requests of this time were lost, because the node could not send them for too long. */
export interface Gap {
  start: string;
  end: string;
}

/** Response headers for all paths of a static site that match. */
export interface HeaderSetting {
  /** A path. `:name` matches one segment, and `/*` at the end any rest. */
  for: string;
  /** Headers by name; null removes what the site or an earlier entry has set. */
  values: { [name: string]: string | null };
}

export interface Invite {
  id: string;
  role: Role;
  email: string | null;
  expires_at: string;
  created_at: string;
}

export interface Job {
  id: string;
  type: string;
  status: JobStatus;
  /** 0 when queued, 0.5 when running, 1 when ended. */
  progress: number;
  created_at: string;
  /** The resource of the job: `type`, `id`, `site_id`, and `env_id` if it has one. */
  resource: { [name: string]: unknown };
  /** Set when the job has succeeded. */
  result: { [name: string]: unknown } | null;
  /** Set when the job has failed. */
  error: { [name: string]: unknown } | null;
  links: JobLinks;
}

export interface JobLinks {
  self: string;
  stream: string;
}

export interface Key {
  id: string;
  name: string | null;
  prefix: string;
  last4: string;
  scopes: Scope[];
  /** The only resource that the key can see. */
  resource: Pin | null;
  /** IPv4 and IPv6 addresses and CIDRs that the key may be used from. Empty: any address. */
  ip_allowlist: string[];
  expires_at: string;
  /** Accurate to the minute. */
  last_used_at: string | null;
  revoked_at: string | null;
  created_at: string;
}

export interface KeyChange {
  name?: string | null;
  /** Only scopes that the key already has. */
  scopes?: Scope[];
}

export interface Lease {
  /** Returned only once. */
  metrics_token: string;
  lease_expires_at: string;
}

export interface Limits {
  memory_mb?: number;
  /** How long a request may take. */
  wall_ms?: number;
  request_bytes?: number;
  requests_per_second?: number;
}

export interface Lock {
  reason: string;
  locked_at: string;
}

/** What the files of Composer say about the version. */
export interface Lockfile {
  constraint: string;
  /** A package, or `composer.json` for the project itself. */
  required_by: string;
  /** Also true for a requirement that the current version does not meet either: it is no reason to stay on it. */
  allows: boolean;
}

export interface LogBucket {
  /** When the bucket begins. */
  ts: string;
  lines: number;
  severities: { [name: string]: number };
}

export interface LogLine {
  ts: string;
  site_id: string;
  severity_text: string;
  /** Addresses are cut to networks, mail addresses and query strings are removed. */
  body: string;
  container: string;
  service_name: string;
  trace_id: string | null;
}

export interface LogVolume {
  hours: number;
  bucket_seconds: number;
  /** In the whole window. */
  lines: number;
  /** Oldest first, also those without lines. */
  buckets: LogBucket[];
  /** You have more sites than were counted. */
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface Logs {
  hours: number;
  /** Newest first. */
  lines: LogLine[];
  /** There is more than the answer shows. */
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface MagicLink {
  /** Whoever has it can sign in, once. Returned only once; stored only as a hash. */
  url: string;
  expires_at: string;
}

/** A mail that an environment tried to send. */
export interface Mail {
  id: string;
  captured_at: string;
  /** As the site has set it. */
  sender: string;
  recipients: string[];
  subject: string;
  /** The beginning of the text, or of the HTML if there is no text. */
  text: string;
  /** Of the whole message, in bytes. */
  size: number;
}

export interface Malware {
  engine: Engine;
  last_scan: Scan | null;
  next_scan_at: string | null;
  /** How many detections are active. */
  active: number;
  /** Whether there are more than the response has. */
  truncated: boolean;
  /** The active detections, newest first. At most 200. */
  detections: Detection[];
}

export interface Marked {
  /** How many notifications were unread before. */
  updated: number;
}

/** Send `ids` or `all`. */
export interface Marking {
  ids?: string[];
  /** Mark every notification that this credential can see; `ids` is ignored. */
  all?: boolean;
}

export interface Member {
  id: string;
  client_id: string;
  email: string;
  name: string;
  role: Role;
  expires_at: string | null;
  created_at: string;
}

export interface MemberChange {
  /** Not above your own. */
  role: Role;
  /** `null` removes the expiry. If omitted, it is unchanged. */
  expires_at?: string | null;
}

export interface Meta {
  key: string;
  /** Lists and objects are JSON. */
  value: string;
}

export interface Metric {
  name: Name;
  hours: number;
  bucket_seconds: number;
  /** Newest first; there is none for a site without requests in a bucket. */
  points: MetricPoint[];
  /** There is more than the answer shows. */
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface MetricPoint {
  /** When the bucket begins. */
  ts: string;
  site_id: string;
  /** `null` if there was nothing to measure. */
  value: number | null;
}

export interface MintedKey {
  id: string;
  name: string | null;
  prefix: string;
  last4: string;
  scopes: Scope[];
  /** The only resource that the key can see. */
  resource: Pin | null;
  /** IPv4 and IPv6 addresses and CIDRs that the key may be used from. Empty: any address. */
  ip_allowlist: string[];
  expires_at: string;
  /** Accurate to the minute. */
  last_used_at: string | null;
  revoked_at: string | null;
  created_at: string;
  /** Returned only once; stored only as a hash. */
  secret: string;
}

export interface NewAccount {
  email: string;
  /** At least 12 characters; stored as an argon2id hash. */
  password: string;
  name: string;
}

/** The first administrator of a WordPress site. */
export interface NewAdministrator {
  username?: string;
  /** Your own address if omitted. */
  email?: string | null;
  /**
   * Write-only. If omitted, a random one that nobody knows: choose your own with *Lost your password?* on
   * `/wp-login.php`, which sends a link to the administrator's address.
   */
  password?: string | null;
}

export interface NewBranchRoutes {
  /** All rules, in order: the first that matches applies. */
  rules: BranchRule[];
  /** Create a new secret for the hook. The old one stops working immediately. */
  roll_hook_secret?: boolean;
  /**
   * The forge that gets commit statuses, and comments with the URL of a preview. It stays as it is if it is
   * not sent; null removes the token.
   */
  forge?: NewForge | null;
}

export interface NewBuild {
  /** `static` for static sites, `cms` for git-managed ones. */
  builder: string;
  /** A branch or tag. The default is the branch of the environment. */
  source_ref?: string | null;
  /** Build exactly this commit. */
  commit?: string | null;
  /** Instead of the repository: the id of an upload, or the https URL of an archive. */
  source?: string | null;
  /** Deploy the artifact to this environment when the build has succeeded. */
  auto_deploy?: boolean;
}

export interface NewCmsUser {
  email: string;
  /** Cannot be changed later. */
  login: string;
  /** The name of a role of the site. An administrator can install plugins, and so run code. */
  role?: string;
  display_name?: string;
  first_name?: string;
  last_name?: string;
  /**
   * `reset_mail`: WordPress sends a mail with a link to choose a password. `response`: a new random password
   * is in this response, and nowhere else. `none`: the user can ask for a mail on the sign-in page.
   */
  password_delivery?: PasswordDelivery;
}

export interface NewCommand {
  /** The arguments, without the name of the program. */
  args: string[];
  /** The program: WP-CLI, or bash, which needs the scope `exec:raw`. */
  shell?: CommandShell;
}

export interface NewComponent {
  /** A theme also needs the scope `cms.themes:write`. */
  kind: ComponentKind;
  slug: string;
  /** `registry`, or the id of an upload that is a zip file with the directory of the plugin or theme. */
  source?: string;
  /** `latest`, or a version. */
  version?: string;
  activate?: boolean;
  /** Also a version that has a known vulnerability. */
  force?: boolean;
}

export interface NewContent {
  type?: ContentType;
  /** Of `media`: the id of an upload of the site, of at most 32 MiB. */
  source?: string;
  /** Of `media`. WordPress accepts it by its type, and may change it. */
  filename?: string;
  title?: string;
  /** Blocks or HTML, as WordPress stores it. Scripts and other unsafe HTML are removed. */
  content?: string;
  excerpt?: string;
  slug?: string;
  status?: ContentStatus;
  /** When it was or will be published. A time in the future needs the status `future`. */
  date?: string;
  /** The id of a user. */
  author?: string;
  /** The id of a page. */
  parent?: string;
  /** The id of a file. */
  featured_media?: string;
  /** Replaces the terms of each taxonomy that is named. */
  terms?: NewTerms[];
  /** Only values that a plugin has registered for the REST API. */
  meta?: NewMeta[];
}

export interface NewCredential {
  kind: CredentialKind;
  env_id: string;
  /** As in the credentials of the site. */
  user: string;
  /** Returned only once. */
  password: string;
  created_at: string;
}

export interface NewCron {
  hook: string;
  /** The name of a recurrence of the site, such as `hourly` or `daily`, or the time of an event that runs once. */
  schedule: string;
  /** What the hook is called with. */
  args?: (string | number | boolean | null)[];
}

export interface NewDeployment {
  /** An artifact of this site, built for any of its environments. */
  artifact_id: string;
}

export interface NewDeviceAuthorization {
  /** Shown to the person who approves; the key has this name. */
  machine_name: string;
  /** Of the key. By default everything except isolated scopes. */
  scopes?: Scope[] | null;
}

export interface NewDomain {
  /** Internationalized names and wildcards are accepted. */
  hostname: string;
  /** Redirect visitors to the primary domain. */
  redirect_to_primary?: boolean;
  /**
   * Also attach the same name with `www.` in front, or without it, and redirect its visitors to the primary
   * domain.
   */
  include_www?: boolean;
}

export interface NewEndpoint {
  /** HTTPS, port 443 or 8443, publicly reachable. */
  url: string;
  /** The default is `["*"]`. */
  event_types?: string[] | null;
  description?: string | null;
}

export interface NewEnvironment {
  type: NewEnvironmentType;
  /** Required for a branch environment, not allowed otherwise. */
  branch?: string | null;
  /** Also copy the uploads of production. A static site has none. */
  copy_uploads?: boolean;
}

export interface NewExport {
  /** All tables if it is empty. */
  tables?: string[];
  /** With gzip. */
  compress?: boolean;
  /**
   * Export the result of one statement that reads instead of tables, each row as a line of JSON. It may take 5
   * minutes and return 1 GiB.
   */
  query?: string;
  /** Of `query`, in the order of the `?`. */
  params?: (string | number | boolean | null)[];
}

export interface NewForge {
  /** The kind of forge. */
  kind: ForgeKind;
  /**
   * A token that may write commit statuses and comments. Can be written, but is never returned. It is sent
   * only to the host of the repository.
   */
  token: string;
}

export interface NewFunction {
  /** A site with the profile `wasm`. */
  site_id: string;
  /** Lowercase letters, digits and hyphens; unique in the site. */
  slug: string;
  display_name: string;
  language?: Language;
  bindings?: Binding[];
  /** Keys of secrets of the production environment, which the function reads as variables. */
  secret_refs?: string[];
  /** Variables of the function. For secrets, use `secret_refs`. */
  env?: { [name: string]: string };
  limits?: Limits;
  /** The path that the function answers, and everything below it; `/_fn/<slug>` if empty. */
  route_path?: string;
  /**
   * Whether every request gets an instance of its own. Otherwise an instance handles up to 1,000 requests, one
   * at a time.
   */
  fresh_instances?: boolean;
  /** The day of its creation, unless told. */
  compatibility_date?: string | null;
  source?: string | null;
  upload_id?: string | null;
  filename?: string | null;
  /** Whether the function is deployed when its build has succeeded. */
  auto_deploy?: boolean;
}

export interface NewFunctionBuild {
  /** If absent, the stored source is built again. */
  source?: string | null;
  upload_id?: string | null;
  filename?: string | null;
  /** Whether the function is deployed when its build has succeeded. */
  auto_deploy?: boolean;
}

export interface NewFunctionDeployment {
  /** An artifact that was built for this function. */
  artifact_id: string;
}

export interface NewInvite {
  /** Not above your own. */
  role: Role;
  /** The invite is sent to this address, and only its account can accept. Optional. */
  email?: string | null;
  /** By default seven days from now. */
  expires_at?: string | null;
}

export interface NewKey {
  /** Only scopes that the creating credential has. Isolated scopes are listed one by one. */
  scopes: Scope[];
  name?: string | null;
  /** Pin the key to one resource. */
  resource?: Pin | null;
  expires_in_days?: number;
  ip_allowlist?: string[] | null;
  /** By default the mode of the creating credential. A test key creates only test keys. */
  mode?: KeyMode | null;
}

export interface NewLock {
  /** Shown to everyone who can see the environment. */
  reason: string;
}

export interface NewMagicLink {
  /** The page that opens after the sign-in: a path of the site, with an optional query. */
  redirect_to?: string;
  /**
   * The user name in WordPress; the site's administrator if omitted. No user is created: a link for a user who
   * does not exist, or has no role, signs nobody in.
   */
  user?: string | null;
  /** An identifier, or `production`. */
  environment?: string;
}

export interface NewMember {
  client_id: string;
  /** Not above your own. */
  role: Role;
  /** When the membership expires. */
  expires_at?: string | null;
}

export interface NewMeta {
  key: string;
  value: string;
}

export interface NewPassword {
  /** The administrator of the site. */
  username: string;
  /** Returned only once; stored only as a hash. */
  password: string;
  /** The password is valid when this job has succeeded. If it fails, the earlier password stays. */
  job_id: string;
}

export interface NewPasswordReset {
  email: string;
}

export interface NewPreferences {
  /** Email is on for categories that are not listed. */
  preferences: Preference[];
}

export interface NewProject {
  name: string;
}

/** A request without a body purges all pages. */
export interface NewPurge {
  type?: PurgeType;
  /** A path with its query, or an absolute URL. */
  url?: string;
  /** A tag that the site sent in `Cache-Tag`. */
  tag?: string;
}

export interface NewPush {
  /** `db` and `full` require a site with a database. */
  mode?: PushMode;
}

export interface NewQuery {
  /** One statement. Each `?` stands for a value of `params`. */
  query: string;
  /** In the order of the `?`. */
  params?: (string | number | boolean | null)[];
  /** The most rows to return. */
  limit?: number;
}

export interface NewRecord {
  type: RecordType;
  /** Relative to the zone, or complete. `@` is the zone itself; `*` is a wildcard. */
  name: string;
  /** An address, a host name or text. SRV: weight, port and target. CAA: flags, tag, value. */
  value: string;
  /** In seconds. */
  ttl?: number;
  priority?: number | null;
}

export interface NewRedirects {
  /** The complete set of rules, with at most 512 KiB of paths and destinations. An empty list removes all. */
  redirects: RedirectRule[];
}

export interface NewSecret {
  /** Can have several lines. Only builds read it. */
  value: string;
  /** It is not a secret: its value is returned, and not masked in the output of builds. */
  plain?: boolean;
  /** Only for production: builds of branch environments get it too, unless they have one of the same name. */
  previews?: boolean;
}

export interface NewSite {
  /** Unique on the platform. Internationalized names are accepted. */
  domain: string;
  /** Cannot be changed later. */
  profile: Profile;
  /** Only for sites that run PHP; the default is `8.3`. */
  php_version?: PhpVersion | null;
  region?: string;
  /** The https or ssh URL of a git repository; required for `git_managed`. */
  git_repo?: string | null;
  git_branch?: string | null;
  /** A team that you own or administer. */
  team_id?: string | null;
  /** Only for sites that run WordPress. */
  admin?: NewAdministrator | null;
}

export interface NewSshKey {
  /**
   * One line, as in a `.pub` file: Ed25519, ECDSA, a security key, or RSA with at least 2048 bits. Without
   * options; certificates are not accepted.
   */
  public_key: string;
  /** To recognize the key. Without it, the comment of the key is the label. */
  label?: string;
}

export interface NewSshKeys {
  /** The complete list. An empty list removes all keys. */
  keys: NewSshKey[];
}

export interface NewStatement {
  /** One statement. Each `?` stands for a value of `params`. */
  query: string;
  /** In the order of the `?`. */
  params?: (string | number | boolean | null)[];
  /** Without it, the change is made and taken back at once. */
  confirm?: boolean;
}

export interface NewTeam {
  name: string;
}

export interface NewTerms {
  taxonomy: string;
  /** Terms that do not exist are created. */
  names: string[];
}

export interface NewUpload {
  /** The exact size of the archive. The URL accepts no other. */
  size_bytes: number;
}

export interface Notification {
  id: string;
  type: string;
  category: string;
  severity: Severity;
  site_id: string | null;
  title: string;
  body: string;
  /** `data` of the event. */
  payload: { [name: string]: unknown };
  read_at: string | null;
  created_at: string;
}

export interface Observability {
  trace_sample_rate: number;
}

export interface ObservabilityChange {
  trace_sample_rate?: number | null;
}

export interface ObservabilityOverride {
  trace_sample_rate?: number;
}

/** Only the settings of this environment itself. */
export interface Override {
  security?: SecurityOverride;
  performance?: PerformanceOverride;
  observability?: ObservabilityOverride;
  serving?: ServingOverride;
}

export interface PageVital {
  /** Without the query string. */
  path: string;
  /** Page views that were measured. */
  samples: number;
  /** In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples. */
  p75: number | null;
  /** Of `p75`, by the thresholds of web vitals. */
  rating: Rating;
}

export interface Pages {
  metric: PagesMetric;
  /** The length of the window, rounded up. */
  days: number;
  /** Those with most samples first. */
  pages: PageVital[];
  /** There are more than `limit`. */
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface PasswordReset {
  /** An identifier, or `production`. */
  environment?: string;
}

export interface PasswordResetConfirmation {
  /** From the email. */
  token: string;
  new_password: string;
}

export interface Performance {
  /** In seconds; 0 disables the cache. */
  page_cache_ttl: number;
  php_workers: number;
  hot_page_count: number;
  hot_ttl_seconds: number;
  hot_refresh_interval_seconds: number;
}

export interface PerformanceChange {
  page_cache_ttl?: number | null;
  php_workers?: number | null;
  hot_page_count?: number | null;
  hot_ttl_seconds?: number | null;
  hot_refresh_interval_seconds?: number | null;
}

export interface PerformanceOverride {
  page_cache_ttl?: number;
  php_workers?: number;
  hot_page_count?: number;
  hot_ttl_seconds?: number;
  hot_refresh_interval_seconds?: number;
}

export interface PhpSwitch {
  version: PhpSwitchVersion;
  /** Change nothing, and describe the switch instead. The response has status 200. */
  dry_run?: boolean;
  /** Switch although the code of the site does not allow the version. Each environment must still answer. */
  force?: boolean;
}

export interface PhpSwitchPreview {
  from: string | null;
  to: string;
  from_image: string | null;
  to_image: string;
  /** Those that would be switched, in this order. */
  environments: PreviewedEnvironment[];
  /** Of the first environment that forbids the version, or else of the first with one. */
  lockfile: Lockfile | null;
  /**
   * Whether the request would be accepted without `dry_run`. Its job checks more before it changes anything:
   * exact versions, extensions, plugins, the theme and the front page.
   */
  would_apply: boolean;
}

/** The one resource that a key may see. */
export interface Pin {
  type: PinType;
  id: string;
}

export interface Plan {
  plan: string;
  label: string;
  limits: PlanLimits;
  usage: Usage;
}

export interface PlanLimits {
  max_sites: number;
  max_environments: number;
  max_branches_per_site: number;
  max_concurrent_jobs: number;
  max_storage_gb: number;
}

export interface Preference {
  category: Category;
  /** Whether notifications of this category are also sent by email. */
  email: boolean;
}

export interface Preferences {
  preferences: Preference[];
}

export interface PreviewedEnvironment {
  env_id: string;
  type: string;
  branch: string | null;
  /** Null without a release, or without a requirement of PHP. */
  lockfile: Lockfile | null;
}

export interface Project {
  id: string;
  name: string;
  /** `null` for a project of an account. */
  team_id: string | null;
  created_at: string;
}

export interface ProjectChange {
  name?: string;
}

export interface Promotion {
  /** The environment to deploy to: its id, or `production`. */
  to_env: string;
}

export interface QueryResult {
  /** A second column of the same name gets a number. */
  columns: string[];
  /** Numbers with decimals and times are text; bytes that are no text begin with `0x`. */
  rows: ({ [name: string]: unknown })[];
  row_count: number;
  /** There are more rows than `limit`, or than 512 KiB. */
  truncated: boolean;
}

/** The short form of a new job, in responses of functions. */
export interface QueuedJob {
  job_id: string;
  status: "queued";
}

export interface RateLimits {
  buckets: ClassBucket[];
  team_ceiling: Bucket;
}

export interface Record {
  id: string;
  type: RecordType;
  /** The complete name. */
  name: string;
  value: string;
  /** In seconds. */
  ttl: number;
  priority: number | null;
  /** Whether the name servers have it. This takes seconds, once the domain is verified. */
  published: boolean;
  /**
   * Whether the domain of the zone is delegated to the name servers of the platform: `complete`; `partial`, if
   * it also has others; or `none`. It is looked up within minutes.
   */
  delegation: Delegation;
  created_at: string;
}

/** Fields that are left out stay as they are. */
export interface RecordChange {
  /** An address, a host name or text. SRV: weight, port and target. CAA: flags, tag, value. */
  value?: string;
  /** In seconds. */
  ttl?: number;
  /** Of MX and SRV records. */
  priority?: number;
}

export interface RedirectRule {
  /** A path of the site. A trailing `*` matches any rest of the path. */
  from: string;
  /** A path or an absolute URL. A trailing `*` is replaced by the matched rest. */
  to: string;
  code: RedirectRuleCode;
}

export interface Redirects {
  redirects: RedirectRule[];
}

export interface Release {
  /** The id of the deployment. */
  id: string;
  artifact_id: string;
  /** The SHA-256 of its OCI manifest. */
  digest: string;
  /** The branch or tag it was built from. */
  ref: string | null;
  status: ReleaseStatus;
  /** Whether visitors see this release now. */
  current: boolean;
  deployed_at: string;
  created_at: string;
}

export interface Request {
  ts: string;
  host: string;
  method: string;
  /** Without the query string. */
  path: string;
  status: number;
  /** From the first byte of the request to the last of the response. */
  duration_ms: number;
  /** Until the response began. `null` if it was not measured. */
  first_byte_ms: number | null;
  bytes_in: number;
  bytes_out: number;
  /** What the page cache did: `HIT`, `MISS`, … */
  cache: string | null;
  /** What the web application firewall found. */
  firewall: string | null;
  /** The /24 or /48 network of the visitor. Addresses are not stored. */
  network: string;
  tls: string | null;
  /** The family of the visitor's program. */
  agent: string;
  device: Device;
  trace_id: string;
  /** The release that answered. */
  release: string | null;
  /** Why the edge answered itself. */
  reason: string | null;
  /** The version of the function that was asked. */
  function_version_id: string | null;
  /** Of the function: how long it has computed. */
  cpu_ms: number | null;
  /** Of the function: the most memory that its process has had. */
  memory_bytes: number | null;
}

export interface RequestVolume {
  hours: number;
  bucket_seconds: number;
  /** In the whole window. */
  requests: number;
  errors: number;
  /** Oldest first, also those without requests. */
  buckets: VolumeBucket[];
  /** Always false: requests are counted, not sampled. */
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface Requests {
  hours: number;
  /** Newest first. */
  requests: Request[];
  /** There are more than `limit`. */
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface Resources {
  hours: number;
  bucket_seconds: number;
  /** Static sites have no containers. */
  containers: ContainerSeries[];
  /** Oldest first; there is none without requests. */
  app: AppPoint[];
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface Restoration {
  /** Later scans ignore files with this hash. */
  mark_ignored?: boolean;
}

export interface RevealedEndpoint {
  id: string;
  /** HTTPS, port 443 or 8443, publicly reachable. */
  url: string;
  /** `*`, event types, or `category:<name>` for all current and future types of a category. */
  event_types: string[];
  description: string | null;
  enabled: boolean;
  /** Why the endpoint was disabled automatically. */
  disabled_reason: string | null;
  created_at: string;
  /** The secret that signs deliveries. Shown only once. */
  secret: string;
}

export interface RolledKey {
  id: string;
  name: string | null;
  /** Returned only once; stored only as a hash. */
  secret: string;
  prefix: string;
  last4: string;
  scopes: Scope[];
  created_at: string;
}

export interface Runtime {
  runtime: string;
  profiles: string[];
  /** `available`: a node of this installation runs such sites. `planned`: none does yet. */
  status: RuntimeStatus;
  capabilities: { [name: string]: Capability };
}

export interface Runtimes {
  runtimes: Runtime[];
}

export interface Scan {
  id: string;
  site_id: string;
  env_id: string;
  job_id: string;
  /** `incremental`: only what has changed since the last scan. */
  kind: ScanKind;
  cause: Cause;
  /** An `error` says nothing about the site: the scan is repeated. */
  status: ScanStatus;
  started_at: string;
  finished_at: string | null;
  files: number;
  scanned: number;
  /** Unchanged, or known to be good. */
  unchanged: number;
  /** Files without a result. */
  failed: number;
  /** The first of them, and why. */
  failures: string[];
  bytes: number;
  duration_ms: number;
  found: number;
  /** Infected files beyond the limit. */
  omitted: number;
  /** Files of `failed` for which the scan had no time. The next one goes on with them. */
  unfinished: number;
  /** The version of ClamAV and its signatures. */
  clamav: string;
  /** The version of the rules. */
  rules: string;
  /** Why there is no result. */
  error: string | null;
}

export interface Secret {
  name: string;
  /** It is not a secret: its value is returned, and not masked in the output of builds. */
  plain: boolean;
  /** Only for production: builds of branch environments get it too, unless they have one of the same name. */
  previews: boolean;
  /** Only of a plain variable. A secret is never returned. */
  value: string | null;
  updated_at: string;
}

export interface Security {
  waf_engine_mode: WafEngineMode;
  ip_reputation_enabled: boolean;
  login_lockout_enabled: boolean;
  /** Whether sign-in links can be created and used, on WordPress sites. */
  magic_links_enabled: boolean;
  /** Addresses and networks that may visit; an empty list allows everyone. */
  allowed_ips: string[];
  /** For how long browsers must use HTTPS, once there is a certificate; 0 sends no header. */
  hsts_seconds: number;
  waf_partner_client_id: string | null;
  /** Whether a key is set. The key itself is never returned. */
  waf_partner_secret_key_set: boolean;
  /**
   * Who may see environments other than production, and the permanent URLs of deployments: everyone, those who
   * know `preview_password`, or those who can see the site in the API and sign in.
   */
  preview_protection: PreviewProtection;
  /** Whether a password is set. It is never returned. */
  preview_password_set: boolean;
}

export interface SecurityChange {
  waf_engine_mode?: WafEngineMode | null;
  ip_reputation_enabled?: boolean | null;
  login_lockout_enabled?: boolean | null;
  magic_links_enabled?: boolean | null;
  allowed_ips?: string[] | null;
  hsts_seconds?: number | null;
  waf_partner_client_id?: string | null;
  /** Can be written, but is never returned. */
  waf_partner_secret_key?: string | null;
  preview_protection?: PreviewProtection | null;
  /**
   * For `preview_protection: password`. Can be written, but is never returned. Those who have entered an
   * earlier password must enter the new one.
   */
  preview_password?: string | null;
}

export interface SecurityOverride {
  waf_engine_mode?: WafEngineMode;
  ip_reputation_enabled?: boolean;
  login_lockout_enabled?: boolean;
  /** Whether sign-in links can be created and used, on WordPress sites. */
  magic_links_enabled?: boolean;
  /** Addresses and networks that may visit; an empty list allows everyone. */
  allowed_ips?: string[];
  /** For how long browsers must use HTTPS, once there is a certificate; 0 sends no header. */
  hsts_seconds?: number;
  waf_partner_client_id?: string;
  /** Whether a key is set. The key itself is never returned. */
  waf_partner_secret_key_set?: boolean;
  /**
   * Who may see environments other than production, and the permanent URLs of deployments: everyone, those who
   * know `preview_password`, or those who can see the site in the API and sign in.
   */
  preview_protection?: PreviewProtection;
  /** Whether a password is set. It is never returned. */
  preview_password_set?: boolean;
}

export interface SecurityRow {
  site_id: string;
  slug: string;
  domain: string;
  critical: number;
  high: number;
  medium: number;
  low: number;
  /** Also those without a rating. */
  vuln_total: number;
  malware_active: number;
  last_scan_at: string | null;
  last_scan_outcome: LastScanOutcome | null;
}

export interface SecuritySummary {
  /** Whether there are more sites than the response has. */
  truncated: boolean;
  sites: SecurityRow[];
}

export interface Server {
  p75_ttfb_ms: number | null;
  p95_ttfb_ms: number | null;
  /** Of the requests for pages that may be cached. `null` without any. */
  cache_hit_pct: number | null;
  /** Requests. */
  samples: number;
}

export interface Serving {
  headers: HeaderSetting[];
}

export interface ServingChange {
  headers?: HeaderSetting[] | null;
}

export interface ServingOverride {
  headers?: HeaderSetting[];
}

export interface Session {
  id: string;
  /** A Bearer credential, shown once. */
  token: string;
  account_id: string;
  /** Each use extends the session, up to 30 days after sign-in. */
  expires_at: string;
  created_at: string;
}

export interface SessionSummary {
  id: string;
  /** Whether this request uses the session. */
  current: boolean;
  /** The address that signed in. */
  address: string | null;
  /** The program that signed in, as it named itself. */
  user_agent: string | null;
  created_at: string;
  last_used_at: string;
  expires_at: string;
}

export interface SftpAddress {
  /** It changes when the environment moves to another node. */
  host: string;
  port: number;
  /** Selects the environment. */
  user: string;
  /** Whether a password opens it besides keys. It is never returned. */
  has_password: boolean;
  password_created_at: string | null;
}

export interface SignIn {
  email: string;
  password: string;
}

export interface SignedUp {
  id: string;
  email: string;
  name: string;
}

export interface Site {
  id: string;
  /** Assigned by the platform; safe in URLs and host names. */
  slug: string;
  domain: string;
  profile: Profile;
  runtime: SiteRuntime;
  php_version: string | null;
  region: string;
  git_repo: string | null;
  git_branch: string | null;
  team_id: string | null;
  project_id: string | null;
  status: SiteStatus;
  /** Why the site is not `running`. */
  status_reason: string | null;
  recoverable_until: string | null;
  created_at: string;
  /**
   * A DNS record that proves `domain`, also before it points here. Null once the domain is verified;
   * `…/environments/production/domains` has the details.
   */
  challenge?: Challenge | null;
}

export interface SiteStorage {
  site_id: string;
  /** Unpacked artifacts and uploads, as they count for the plan. */
  bytes: number;
  /** The last 30 days, oldest first. */
  series: StorageDay[];
}

export interface Snapshot {
  id: string;
  site_id: string;
  /** The environment that it shows. */
  env_id: string;
  /** Why it was taken. */
  kind: SnapshotKind;
  /** How it came to be: `scheduled` or `on-demand`. */
  tags: string;
  taken_at: string;
  /** The size of the files and rows when they are restored. */
  size_bytes: number;
  /**
   * When it was restored on trial and compared with the original. WordPress was also started and has answered,
   * except for `before_restore`, `before_quarantine` and `site_deleted`: these sites may be broken. Null if
   * this has not happened.
   */
  verified_at: string | null;
  /** When it was copied to the second store. Null if it was not. */
  synced_at: string | null;
  /** Why it is kept beyond the normal window of the plan. */
  retention_reason: string | null;
}

export interface Span {
  /** When it began. */
  ts: string;
  site_id: string;
  trace_id: string;
  span_id: string;
  /** The span that it is a part of. */
  parent_id: string | null;
  service: string;
  name: string;
  duration_ms: number;
  status: SpanStatus;
  /** Of the response, if it has one. */
  status_code: number | null;
}

export interface SshAddress {
  /** It changes when the environment moves to another node. */
  host: string;
  port: number;
  /** Selects the environment. */
  user: string;
}

export interface SshKey {
  id: string;
  /** Whose key it is. */
  client_id: string;
  label: string;
  type: string;
  fingerprint: string;
  public_key: string;
  /** Whether it opens a shell. Otherwise it transfers files and reaches the database. */
  may_run_commands: boolean;
  created_at: string;
}

export interface SshKeys {
  keys: SshKey[];
}

export interface StartedDevice {
  /** The secret of the device. Nobody else may know it. */
  device_code: string;
  /** What the device shows, and people compare. */
  user_code: string;
  /** Where people approve. */
  verification_uri: string;
  /** The same page, with the code filled in. */
  verification_uri_complete: string;
  /** In seconds. */
  expires_in: number;
  /** Seconds between two requests for the key. */
  interval: number;
}

export interface StatementResult {
  affected_rows: number;
  /** False if it was a dry run. */
  applied: boolean;
}

export interface Storage {
  /** The length of the series. */
  days: number;
  /** Newest first. */
  sites: SiteStorage[];
  /** You have more sites than are shown. */
  truncated: boolean;
  as_of: string;
}

export interface StorageDay {
  date: string;
  bytes: number;
}

export interface Summary {
  /** What the browsers of visitors have measured. */
  rum: Vital[];
  /** What the edge has measured, for all requests. */
  server: Server;
  /** The length of the window, rounded up. */
  days: number;
  /** There are more sites than were counted. */
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface Table {
  name: string;
  /** An estimate. */
  rows: number;
  size_bytes: number;
}

export interface Team {
  team_id: string;
  name: string;
  plan: string;
  created_at: string;
  /** The role of the caller in the team. */
  my_role: Role;
}

export interface TeamChange {
  name?: string;
}

export interface Terms {
  taxonomy: string;
  names: string[];
}

export interface Timeseries {
  metric: TimeseriesMetric;
  /** The length of the window, rounded up. */
  days: number;
  bucket_seconds: number;
  /** Oldest first; there is none without samples. */
  points: VitalPoint[];
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

export interface Tls {
  domain: string;
  /**
   * `unconfigured`: no certificate will be issued. `not_registered`: waiting for the first attempt. `pending`:
   * not issued yet. `valid`: issued. `expired`: expired and not renewed.
   */
  state: TlsState;
  /** The certificate authority that issued it. */
  ca: string | null;
  issued_at: string | null;
  expires_at: string | null;
  /** Why the last attempt to issue or renew the certificate failed. */
  error?: string;
  /** The reason for `error`, as a code. */
  error_code?: TlsErrorCode;
}

export interface Trace {
  trace_id: string;
  /** From the beginning of the first span to the end of the last. */
  duration_ms: number;
  /** In the order in which they began. Empty if there are none. */
  spans: Span[];
  /** The trace has more spans than are shown. */
  truncated: boolean;
}

export interface Traces {
  hours: number;
  /** Newest first. */
  spans: Span[];
  /** There are more than `limit`. */
  truncated: boolean;
  /** Everything up to then is included. `null` if nothing was received yet. */
  as_of: string | null;
  gaps: Gap[];
}

/** Send exactly one of the two fields. */
export interface Transfer {
  to_team_id?: string;
  /** Your own account. */
  to_client_id?: string;
}

export interface Transferred {
  site_id: string;
  functions_transferred: number;
}

/** The response to a change that names no setting. */
export interface Unchanged {
  changed: boolean;
  message: string;
}

export interface UnknownComponent {
  component_type: string;
  component_slug: string;
  component_name: string;
}

export interface Unread {
  unread: number;
}

export interface Upload {
  /** Used as the `source` of a build. */
  id: string;
  /** Where to send the archive, unchanged. Keep the URL secret while it is valid. */
  url: string;
  method: "PUT";
  /** Headers to send with the archive. They are part of the signature of the URL. */
  headers: { [name: string]: string };
  /** Until when the URL accepts the archive. */
  expires_at: string;
  /** The declared size. */
  max_bytes: number;
}

export interface Usage {
  sites: number;
  environments: number;
  storage_gb: number;
}

export interface Vital {
  metric: VitalMetric;
  /** In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples. */
  p75: number | null;
  /** In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples. */
  p90: number | null;
  /** In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples. */
  p95: number | null;
  /** In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples. */
  p99: number | null;
  /** Page views that were measured. */
  samples: number;
}

export interface VitalPoint {
  /** When the bucket begins. */
  ts: string;
  p75: number;
  p90: number;
  p95: number;
  /** Page views that were measured. */
  samples: number;
}

export interface VolumeBucket {
  /** When the bucket begins. */
  ts: string;
  requests: number;
  /** With a status from 400 to 499. */
  client_errors: number;
  /** With a status of 500 and above. */
  errors: number;
  bytes_out: number;
}

export interface Vulnerabilities {
  summary: VulnerabilitySummary;
  /** The worst first. At most 500. */
  findings: Vulnerability[];
  /** Components whose version is unknown. */
  unknown: UnknownComponent[];
  /** The notices and licences of the sources of the feed, by source: `notice`, `license` and `license_url`. */
  attribution: { [name: string]: unknown };
}

export interface Vulnerability {
  vuln_id: string;
  title: string;
  /** `core`, `plugin` or `theme`. */
  component_type: string;
  /** As the site calls it. */
  component_name: string;
  component_slug: string;
  installed_version: string;
  affected_range: string;
  fixed_version: string | null;
  patched: boolean;
  cvss_score: number | null;
  cvss_rating: string;
  cve: string | null;
  remediation: string | null;
  record_url: string | null;
  /** Whose record it is, with notices and licences. Show them with the record. */
  copyrights: { [name: string]: unknown };
  opened_at: string;
}

export interface VulnerabilitySummary {
  critical: number;
  high: number;
  medium: number;
  low: number;
  /** Also those without a rating. */
  total: number;
  /** When the feed was last read completely. Null if it never was: then nothing is known. */
  checked_at: string | null;
  /**
   * `missing`: the components of the site are not known yet. `unknown_versions`: nothing can be said about the
   * components in `unknown`.
   */
  inventory_status: InventoryStatus;
  inventory_at: string | null;
  /** Why the feed could not be read last time. */
  feed_error: string | null;
}
