# Generated from the API description by `make generate`.
"""The objects that the API returns, and its enums. Every enum may get more values."""

from __future__ import annotations

from stead_sdk._model import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Action = Literal["activate", "deactivate", "delete", "update"] | str
    ActorKind = Literal["api_key", "member", "system"] | str
    AuditEventOutcome = Literal["denied", "success"] | str
    BindingKind = Literal["coord", "cron", "fetch", "kv", "service"] | str
    Bots = Literal["exclude", "include"] | str
    BranchRuleTarget = Literal["ignore", "live", "preview", "staging"] | str
    BuildStatus = Literal["failed", "queued", "running", "succeeded"] | str
    CapabilitiesRuntime = Literal["cms", "static", "wasm"] | str
    Category = (
        Literal[
            "backup",
            "billing",
            "build",
            "deploy",
            "environment",
            "function",
            "job",
            "security",
            "site",
            "team",
            "webhook",
        ]
        | str
    )
    Cause = Literal["change", "on_demand", "scheduled"] | str
    ClassBucketClass = Literal["create", "read", "write"] | str
    CommandShell = Literal["bash", "cms-cli"] | str
    ComponentKind = Literal["module", "plugin", "theme"] | str
    ComponentOperationKind = Literal["module", "plugin", "theme"] | str
    ComponentStatus = Literal["active", "inactive"] | str
    ComponentType = Literal["drop_in", "must_use", "regular"] | str
    ComponentUpdateStatus = Literal["active", "inactive"] | str
    ContentDetailType = Literal["media", "page", "post"] | str
    ContentFilterStatus = Literal["draft", "future", "pending", "private", "publish", "trash"] | str
    ContentOperationAction = Literal["create", "delete", "update"] | str
    ContentStatus = Literal["draft", "future", "pending", "private", "publish"] | str
    ContentType = Literal["media", "page", "post"] | str
    CredentialKind = Literal["database", "sftp"] | str
    Delegation = Literal["complete", "none", "partial", "unknown"] | str
    DeliveryStatus = Literal["delivered", "failed", "pending"] | str
    DeploymentKind = Literal["clone", "deploy", "promote", "push", "refresh", "restore", "rollback"] | str
    DeploymentStatus = Literal["deploying", "failed", "live", "pending", "superseded"] | str
    DetectionStatus = (
        Literal["detected", "dismissed", "ignored", "quarantine_failed", "quarantined", "restored"] | str
    )
    Device = Literal["bot", "desktop", "mobile", "other", "tablet"] | str
    DomainStatus = Literal["failed", "pending", "verified"] | str
    EngineStatus = Literal["error", "ok", "unknown"] | str
    EnvironmentStatus = (
        Literal["deleted", "deleting", "failed", "provisioning", "running", "suspended", "suspending"] | str
    )
    EnvironmentType = Literal["branch", "production", "staging"] | str
    Forge = Literal["gitea", "github", "gitlab"] | str
    ForgeKind = Literal["gitea", "github", "gitlab"] | str
    FunctionBuildStatus = Literal["", "building", "deploying", "failed", "live"] | str
    InventoryStatus = Literal["complete", "missing", "unknown_versions"] | str
    JobStatus = Literal["failed", "queued", "running", "succeeded"] | str
    KeyMode = Literal["live", "test"] | str
    Language = Literal["c", "go", "javascript", "rust", "swift", "tinygo", "typescript", "zig"] | str
    LastBackupStatus = Literal["failed", "never", "succeeded"] | str
    LastScanOutcome = Literal["clean", "error", "infected"] | str
    LogSeverity = Literal["DEBUG", "ERROR", "INFO", "WARN"] | str
    LogTailSeverity = Literal["DEBUG", "ERROR", "INFO", "WARN"] | str
    LogVolumeSeverity = Literal["DEBUG", "ERROR", "INFO", "WARN"] | str
    Name = (
        Literal[
            "bytes_in",
            "bytes_out",
            "cache_hit_pct",
            "client_errors",
            "errors",
            "first_byte_p75_ms",
            "first_byte_p95_ms",
            "requests",
        ]
        | str
    )
    NewEnvironmentType = Literal["branch", "staging"] | str
    PagesMetric = Literal["CLS", "FCP", "INP", "LCP", "TTFB"] | str
    PasswordDelivery = Literal["none", "reset_mail", "response"] | str
    PhpSwitchVersion = Literal["8.2", "8.3", "8.4", "8.5"] | str
    PhpVersion = Literal["8.2", "8.3", "8.4", "8.5"] | str
    PinType = Literal["environment", "project", "site", "team"] | str
    PreviewProtection = Literal["none", "password", "team"] | str
    Profile = Literal["git_managed", "static", "vanilla", "wasm"] | str
    PurgeType = Literal["all", "tag", "url"] | str
    PushMode = Literal["db", "files", "full"] | str
    Rating = Literal["good", "needs_improvement", "not_enough_data", "poor"] | str
    RecordType = Literal["A", "AAAA", "CAA", "CNAME", "MX", "NS", "SRV", "TXT"] | str
    RedirectRuleCode = Literal[301, 302, 307, 308] | int
    ReleaseStatus = Literal["deploying", "failed", "live", "pending", "superseded"] | str
    Role = Literal["admin", "billing", "observer", "owner", "site_manager"] | str
    RuntimeStatus = Literal["available", "planned"] | str
    ScanKind = Literal["full", "incremental"] | str
    ScanStatus = Literal["clean", "error", "infected", "running"] | str
    Scope = (
        Literal[
            "*",
            "account:*",
            "account:admin",
            "account:read",
            "account:write",
            "audit:*",
            "audit:read",
            "backups:*",
            "backups:read",
            "backups:write",
            "cache:*",
            "cache:write",
            "cms.cli:*",
            "cms.cli:exec",
            "cms.content:*",
            "cms.content:read",
            "cms.content:write",
            "cms.plugins:*",
            "cms.plugins:read",
            "cms.plugins:write",
            "cms.themes:*",
            "cms.themes:read",
            "cms.themes:write",
            "cms.users:*",
            "cms.users:read",
            "cms.users:write",
            "credentials:read",
            "credentials:write",
            "cron:*",
            "cron:read",
            "cron:write",
            "db:*",
            "db:read",
            "db:write",
            "deployments:*",
            "deployments:read",
            "deployments:write",
            "domains:*",
            "domains:read",
            "domains:write",
            "environments:*",
            "environments:read",
            "environments:write",
            "events:*",
            "events:read",
            "exec:raw",
            "functions:*",
            "functions:read",
            "functions:write",
            "jobs:*",
            "jobs:read",
            "keys:read",
            "keys:write",
            "notifications:*",
            "notifications:read",
            "notifications:write",
            "observability:*",
            "observability:read",
            "redirects:*",
            "redirects:read",
            "redirects:write",
            "runtime:*",
            "runtime:write",
            "secrets:*",
            "secrets:read",
            "secrets:write",
            "security:*",
            "security:read",
            "security:write",
            "sites:*",
            "sites:admin",
            "sites:read",
            "sites:write",
            "teams:*",
            "teams:admin",
            "teams:read",
            "teams:write",
            "tls:*",
            "tls:read",
            "tls:write",
            "vulnerabilities:*",
            "vulnerabilities:read",
            "webhooks:*",
            "webhooks:read",
            "webhooks:write",
        ]
        | str
    )
    ServeModel = Literal["container", "static", "wasm"] | str
    Severity = Literal["critical", "error", "info", "warning"] | str
    SiteRuntime = Literal["cms", "static", "wasm"] | str
    SiteStatus = (
        Literal["awaiting_push", "deleted", "deleting", "failed", "provisioning", "running", "stopped"] | str
    )
    SnapshotKind = (
        Literal[
            "before_push",
            "before_quarantine",
            "before_restore",
            "before_switch",
            "before_update",
            "on_demand",
            "scheduled",
            "site_deleted",
        ]
        | str
    )
    Source = Literal["database", "file"] | str
    SpanStatus = Literal["error", "ok"] | str
    TimeseriesMetric = Literal["CLS", "FCP", "INP", "LCP", "TTFB"] | str
    TlsErrorCode = (
        Literal[
            "ca_rate_limited",
            "ca_refused",
            "ca_unreachable",
            "ca_untrusted",
            "caa",
            "challenge_failed",
            "dns",
            "dns_unanswered",
            "edges",
            "internal",
            "zone",
        ]
        | str
    )
    TlsState = Literal["expired", "not_registered", "pending", "unconfigured", "valid"] | str
    VitalMetric = Literal["CLS", "FCP", "INP", "LCP", "TTFB"] | str
    WafEngineMode = Literal["detection", "off", "on"] | str
else:
    Action = str
    ActorKind = str
    AuditEventOutcome = str
    BindingKind = str
    Bots = str
    BranchRuleTarget = str
    BuildStatus = str
    CapabilitiesRuntime = str
    Category = str
    Cause = str
    ClassBucketClass = str
    CommandShell = str
    ComponentKind = str
    ComponentOperationKind = str
    ComponentStatus = str
    ComponentType = str
    ComponentUpdateStatus = str
    ContentDetailType = str
    ContentFilterStatus = str
    ContentOperationAction = str
    ContentStatus = str
    ContentType = str
    CredentialKind = str
    Delegation = str
    DeliveryStatus = str
    DeploymentKind = str
    DeploymentStatus = str
    DetectionStatus = str
    Device = str
    DomainStatus = str
    EngineStatus = str
    EnvironmentStatus = str
    EnvironmentType = str
    Forge = str
    ForgeKind = str
    FunctionBuildStatus = str
    InventoryStatus = str
    JobStatus = str
    KeyMode = str
    Language = str
    LastBackupStatus = str
    LastScanOutcome = str
    LogSeverity = str
    LogTailSeverity = str
    LogVolumeSeverity = str
    Name = str
    NewEnvironmentType = str
    PagesMetric = str
    PasswordDelivery = str
    PhpSwitchVersion = str
    PhpVersion = str
    PinType = str
    PreviewProtection = str
    Profile = str
    PurgeType = str
    PushMode = str
    Rating = str
    RecordType = str
    RedirectRuleCode = int
    ReleaseStatus = str
    Role = str
    RuntimeStatus = str
    ScanKind = str
    ScanStatus = str
    Scope = str
    ServeModel = str
    Severity = str
    SiteRuntime = str
    SiteStatus = str
    SnapshotKind = str
    Source = str
    SpanStatus = str
    TimeseriesMetric = str
    TlsErrorCode = str
    TlsState = str
    VitalMetric = str
    WafEngineMode = str


class Accepted(Model):
    _fields = {"team_id": None, "role": None}

    if TYPE_CHECKING:
        team_id: str
        role: Role


class Account(Model):
    _fields = {
        "id": None,
        "email": None,
        "name": None,
        "default_team_id": None,
        "role": None,
        "plan": None,
        "scopes": None,
    }

    if TYPE_CHECKING:
        id: str
        email: str
        name: str
        default_team_id: str | None
        role: str
        plan: str
        scopes: list[str]
        """The scopes of the key, or `["*"]` for a session."""


class AppPoint(Model):
    _fields = {
        "ts": None,
        "requests": None,
        "errors": None,
        "first_byte_p75_ms": None,
        "network_in_bytes": None,
        "network_out_bytes": None,
    }

    if TYPE_CHECKING:
        ts: str
        """When the bucket begins."""
        requests: int
        errors: int
        """With a status of 500 and above."""
        first_byte_p75_ms: float | None
        network_in_bytes: int
        network_out_bytes: int


class Artifact(Model):
    _fields = {
        "id": None,
        "digest": None,
        "signature_ref": None,
        "serve_model": None,
        "ref": None,
        "commit": None,
        "build_id": None,
        "size_bytes": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        digest: str
        """The SHA-256 of its OCI manifest."""
        signature_ref: str
        """The key that signed the provenance."""
        serve_model: ServeModel
        ref: str | None
        """The branch or tag it was built from."""
        commit: str | None
        build_id: str | None
        size_bytes: int
        """The size of its compressed files."""
        created_at: str


class Attempt(Model):
    """One attempt of a delivery."""

    _fields = {"at": None, "status": None, "duration_ms": None, "error": None, "excerpt": None}

    if TYPE_CHECKING:
        at: str
        status: int | None
        """The HTTP status; null if there was no response."""
        duration_ms: int
        error: str | None
        excerpt: str | None
        """The beginning of the response body."""


class AuditEvent(Model):
    _fields = {
        "id": None,
        "event": None,
        "outcome": None,
        "actor_kind": None,
        "actor_user_id": None,
        "actor_email": None,
        "actor_key_id": None,
        "team_id": None,
        "site_id": None,
        "meta": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        event: str
        outcome: AuditEventOutcome
        actor_kind: ActorKind
        actor_user_id: str | None
        """The person, also if an API key was used."""
        actor_email: str | None
        actor_key_id: str | None
        team_id: str | None
        site_id: str | None
        meta: dict[str, Any]
        created_at: str


class BackupStatusRow(Model):
    _fields = {
        "site_id": None,
        "slug": None,
        "domain": None,
        "latest_snapshot_at": None,
        "snapshot_age_seconds": None,
        "size_bytes": None,
        "last_backup_status": None,
    }

    if TYPE_CHECKING:
        site_id: str
        slug: str
        domain: str
        latest_snapshot_at: str | None
        snapshot_age_seconds: int | None
        size_bytes: int | None
        """Of the latest snapshot."""
        last_backup_status: LastBackupStatus
        """How the last attempt ended."""


class Backups(Model):
    _fields = {"truncated": None, "sites": "*BackupStatusRow"}

    if TYPE_CHECKING:
        truncated: bool
        """Whether there are more sites than the response has."""
        sites: list[BackupStatusRow]


class Binding(Model):
    _fields = {"kind": None, "name": None, "config": "BindingConfig"}

    if TYPE_CHECKING:
        kind: BindingKind
        """`cron` is refused: there are no scheduled functions."""
        name: str
        """The name in `env`."""
        config: BindingConfig | None


class BindingConfig(Model):
    """Which fields it has depends on the kind of the binding."""

    _fields = {"namespace": None, "allow": None, "function": None}

    if TYPE_CHECKING:
        namespace: str | None
        """Of `kv` and `coord`: functions of the site with the same namespace share its data."""
        allow: list[str] | None
        """Of `fetch`: `host`, `*.host` or `host:port`."""
        function: str | None
        """Of `service`: the slug of another function of the site."""


class BranchRoutes(Model):
    _fields = {
        "rules": "*BranchRule",
        "hook_url": None,
        "hook_secret_set": None,
        "deploy_key": None,
        "last_hook_at": None,
        "last_checked_at": None,
        "last_error": None,
        "forge": None,
        "forge_error": None,
        "hook_secret": None,
    }
    _sensitive = frozenset(["hook_secret"])

    if TYPE_CHECKING:
        rules: list[BranchRule]
        hook_url: str
        """The URL to enter as a webhook in the forge."""
        hook_secret_set: bool
        """Whether the hook has a secret. Without one, all deliveries are refused."""
        deploy_key: str | None
        """The site's public key for a repository over ssh; null without a repository."""
        last_hook_at: str | None
        """When the last hook delivery arrived."""
        last_checked_at: str | None
        """When the repository was last polled for its branches."""
        last_error: str | None
        """Why the last poll failed, if it did."""
        forge: Forge | None
        """The kind of forge that is told about builds; null if it has no token."""
        forge_error: str | None
        """Why the forge could not be told, if it could not."""
        hook_secret: str | None
        """Returned only once, when it is created."""


class BranchRule(Model):
    _fields = {"pattern": None, "target": None}

    if TYPE_CHECKING:
        pattern: str
        """The name of a branch, or a glob: `*` matches anything except `/`, `**` matches anything."""
        target: BranchRuleTarget
        """The environment that is built: `live` and `staging` are those of the site; `preview` is created for
        the branch; `ignore` builds nothing.
        """


class Bucket(Model):
    _fields = {"limit": None, "remaining": None, "reset": None}

    if TYPE_CHECKING:
        limit: int
        remaining: int
        reset: int
        """Unix time at which the full limit is available again."""


class Build(Model):
    _fields = {
        "id": None,
        "env_id": None,
        "status": None,
        "builder": None,
        "source": None,
        "ref": None,
        "commit": None,
        "author": None,
        "message": None,
        "artifact_id": None,
        "job_id": None,
        "auto_deploy": None,
        "error": None,
        "skipped": None,
        "created_at": None,
        "started_at": None,
        "finished_at": None,
    }

    if TYPE_CHECKING:
        id: str
        env_id: str
        status: BuildStatus
        builder: str
        source: str
        """`git`, the id of an upload, or the URL of an archive without its query."""
        ref: str | None
        """The branch or tag it was built from."""
        commit: str | None
        author: str | None
        """The author of the commit."""
        message: str | None
        """The message of the commit."""
        artifact_id: str | None
        """Set once the build has succeeded."""
        job_id: str | None
        auto_deploy: bool
        error: str | None
        """Why the build failed, or why its artifact was not deployed."""
        skipped: bool
        """Nothing was built, because nothing that the live release is built from has changed."""
        created_at: str
        started_at: str | None
        finished_at: str | None


class Capabilities(Model):
    _fields = {"runtime": None, "capabilities": "*Capability"}

    if TYPE_CHECKING:
        runtime: CapabilitiesRuntime
        capabilities: dict[str, Capability]


class Capability(Model):
    _fields = {
        "supported": None,
        "actions": None,
        "kind": None,
        "engine": None,
        "shells": None,
        "selectors": None,
    }

    if TYPE_CHECKING:
        supported: bool
        actions: list[str] | None
        kind: str | None
        engine: str | None
        shells: list[str] | None
        selectors: list[str] | None


class Challenge(Model):
    """A DNS record that proves who has the name. It may be removed once the name is verified."""

    _fields = {"type": None, "name": None, "value": None}

    if TYPE_CHECKING:
        type: str
        name: str
        value: str


class ClassBucket(Model):
    _fields = {"limit": None, "remaining": None, "reset": None, "class_": None}
    _renamed = {"class_": "class"}

    if TYPE_CHECKING:
        limit: int
        remaining: int
        reset: int
        """Unix time at which the full limit is available again."""
        class_: ClassBucketClass


class ClosedAccount(Model):
    _fields = {"closed_at": None, "sites": None, "erased_at": None}

    if TYPE_CHECKING:
        closed_at: str
        sites: int
        """How many sites of the account are deleted now."""
        erased_at: str
        """When the content of the sites and the personal data of the account are erased. Until then the
        operator can open the account again.
        """


class CmsUser(Model):
    _fields = {
        "id": None,
        "login": None,
        "email": None,
        "display_name": None,
        "first_name": None,
        "last_name": None,
        "roles": None,
        "registered_at": None,
    }

    if TYPE_CHECKING:
        id: str
        """The number of the user in WordPress."""
        login: str
        email: str
        display_name: str
        first_name: str
        last_name: str
        roles: list[str]
        registered_at: str | None


class CmsUserWithPassword(Model):
    _fields = {
        "id": None,
        "login": None,
        "email": None,
        "display_name": None,
        "first_name": None,
        "last_name": None,
        "roles": None,
        "registered_at": None,
        "password": None,
    }
    _sensitive = frozenset(["password"])

    if TYPE_CHECKING:
        id: str
        """The number of the user in WordPress."""
        login: str
        email: str
        display_name: str
        first_name: str
        last_name: str
        roles: list[str]
        registered_at: str | None
        password: str | None
        """Only if `password_delivery` is `response`. It is shown once."""


class Component(Model):
    _fields = {
        "id": None,
        "kind": None,
        "type": None,
        "slug": None,
        "name": None,
        "version": None,
        "status": None,
        "update_available": None,
        "site_id": None,
        "env_id": None,
    }

    if TYPE_CHECKING:
        id: str
        kind: ComponentKind
        type: ComponentType
        """`must_use` and `drop_in` plugins are always active. WordPress cannot deactivate or update them."""
        slug: str
        name: str
        version: str
        status: ComponentStatus
        update_available: str | None
        """The version that WordPress offers."""
        site_id: str
        env_id: str


class Configuration(Model):
    _fields = {
        "security": "Security",
        "performance": "Performance",
        "observability": "Observability",
        "serving": "Serving",
    }

    if TYPE_CHECKING:
        security: Security
        performance: Performance
        observability: Observability
        serving: Serving


class ContainerPoint(Model):
    _fields = {"ts": None, "cpu_pct": None, "memory_bytes": None, "memory_limit_bytes": None}

    if TYPE_CHECKING:
        ts: str
        """When the bucket begins."""
        cpu_pct: float
        """100 is one processor."""
        memory_bytes: int
        """The highest in the bucket."""
        memory_limit_bytes: int | None
        """`null` without a limit."""


class ContainerSeries(Model):
    _fields = {"container": None, "points": "*ContainerPoint"}

    if TYPE_CHECKING:
        container: str
        points: list[ContainerPoint]
        """Oldest first; there is none while the container did not run."""


class Content(Model):
    _fields = {
        "id": None,
        "type": None,
        "status": None,
        "title": None,
        "slug": None,
        "modified_at": None,
        "date": None,
        "author": None,
        "url": None,
    }

    if TYPE_CHECKING:
        id: str
        """The number of the post in WordPress."""
        type: ContentType
        status: str
        """`publish`, `draft`, `pending`, `private`, `future`, `trash`, or one of a plugin."""
        title: str
        slug: str
        modified_at: str | None
        date: str | None
        """Null for a draft without a date."""
        author: str
        """The id of a user of the site."""
        url: str


class ContentDetail(Model):
    _fields = {
        "id": None,
        "type": None,
        "status": None,
        "title": None,
        "slug": None,
        "modified_at": None,
        "date": None,
        "author": None,
        "url": None,
        "content": None,
        "excerpt": None,
        "parent": None,
        "featured_media": None,
        "terms": "*Terms",
        "meta": "*Meta",
        "mime_type": None,
        "file_url": None,
    }

    if TYPE_CHECKING:
        id: str
        """The number of the post in WordPress."""
        type: ContentDetailType
        status: str
        """`publish`, `draft`, `pending`, `private`, `future`, `trash`, or one of a plugin."""
        title: str
        slug: str
        modified_at: str | None
        date: str | None
        """Null for a draft without a date."""
        author: str
        """The id of a user of the site."""
        url: str
        content: str
        excerpt: str
        parent: str | None
        """The page above a page."""
        featured_media: str | None
        terms: list[Terms]
        meta: list[Meta]
        """Values that plugins have registered for the REST API."""
        mime_type: str | None
        """Of media."""
        file_url: str | None
        """Of media."""


class CreatedInvite(Model):
    _fields = {"id": None, "role": None, "email": None, "expires_at": None, "created_at": None, "token": None}
    _sensitive = frozenset(["token"])

    if TYPE_CHECKING:
        id: str
        role: Role
        email: str | None
        expires_at: str
        created_at: str
        token: str
        """Returned only once. Send it to the person you invite."""


class CreatedTeam(Model):
    _fields = {"team_id": None}

    if TYPE_CHECKING:
        team_id: str


class Credentials(Model):
    _fields = {"environments": "*EnvironmentAccess"}

    if TYPE_CHECKING:
        environments: list[EnvironmentAccess]
        """Those that can be entered. A site without processes has none."""


class Cron(Model):
    _fields = {
        "id": None,
        "hook": None,
        "schedule": None,
        "next_run_at": None,
        "interval_seconds": None,
        "args": None,
    }

    if TYPE_CHECKING:
        id: str
        hook: str
        schedule: str
        """A recurrence, or the time of an event that runs once."""
        next_run_at: str
        """The platform runs it within about a minute, also while the site sleeps."""
        interval_seconds: int | None
        """Of a repeated event."""
        args: list[str]
        """Values that are not text are JSON."""


class Database(Model):
    _fields = {"engine": None, "version": None, "size_bytes": None, "tables": "*Table"}

    if TYPE_CHECKING:
        engine: str
        version: str
        size_bytes: int
        tables: list[Table]


class DatabaseAddress(Model):
    _fields = {
        "host": None,
        "port": None,
        "user": None,
        "name": None,
        "has_password": None,
        "password_created_at": None,
    }

    if TYPE_CHECKING:
        host: str
        """As seen from the SSH server: the target of a tunnel."""
        port: int
        user: str
        """For people. The site itself has another one."""
        name: str
        """It changes when the environment gets other data: with a refresh, a reset or a push."""
        has_password: bool
        """Whether the user exists: it is created with its first password, which is never returned."""
        password_created_at: str | None


class Delivery(Model):
    _fields = {
        "id": None,
        "event_id": None,
        "status": None,
        "attempts": None,
        "response_status": None,
        "last_error": None,
        "created_at": None,
        "delivered_at": None,
        "next_attempt_at": None,
        "log": "*Attempt",
    }

    if TYPE_CHECKING:
        id: str
        event_id: str
        status: DeliveryStatus
        attempts: int
        response_status: int | None
        last_error: str | None
        created_at: str
        delivered_at: str | None
        next_attempt_at: str | None
        log: list[Attempt]
        """The most recent attempts, oldest first."""


class Deployment(Model):
    _fields = {
        "id": None,
        "env_id": None,
        "artifact_id": None,
        "digest": None,
        "ref": None,
        "commit": None,
        "kind": None,
        "from_deployment_id": None,
        "status": None,
        "reason": None,
        "job_id": None,
        "created_at": None,
        "deployed_at": None,
        "current_since": None,
        "url": None,
    }

    if TYPE_CHECKING:
        id: str
        env_id: str
        artifact_id: str
        digest: str
        """The SHA-256 of its OCI manifest."""
        ref: str | None
        """The branch or tag it was built from."""
        commit: str | None
        kind: DeploymentKind
        """What created the deployment."""
        from_deployment_id: str | None
        """The deployment whose release it repeats."""
        status: DeploymentStatus
        reason: str | None
        """Why the deployment failed."""
        job_id: str | None
        created_at: str
        deployed_at: str | None
        """When the deployment became live."""
        current_since: str | None
        """Since when it is live; null for all other deployments."""
        url: str | None
        """Always shows this deployment, whatever the environment serves now. The latest ten deployments of an
        environment of a static site have one.
        """


class Detection(Model):
    _fields = {
        "id": None,
        "site_id": None,
        "env_id": None,
        "scan_id": None,
        "source": None,
        "path": None,
        "signature": None,
        "engine": None,
        "detail": None,
        "sha256": None,
        "status": None,
        "reason": None,
        "restore_job_id": None,
        "detected_at": None,
        "updated_at": None,
    }

    if TYPE_CHECKING:
        id: str
        site_id: str
        env_id: str
        scan_id: str
        source: Source
        path: str
        """Below the site, or the table and row: `database:posts/12`."""
        signature: str
        engine: str
        """`clamav`, `yara`, `inventory` or `database`."""
        detail: str
        """Where the signature matches."""
        sha256: str
        status: DetectionStatus
        reason: str | None
        """Why the file was not moved, or not restored."""
        restore_job_id: str | None
        """The job that restores the file, or was the last to try."""
        detected_at: str
        updated_at: str


class DeviceAuthorization(Model):
    """What a person sees before they approve."""

    _fields = {
        "user_code": None,
        "machine_name": None,
        "network": None,
        "scopes": None,
        "created_at": None,
        "expires_at": None,
    }

    if TYPE_CHECKING:
        user_code: str
        """What the device shows, and people compare."""
        machine_name: str
        network: str
        """The address or network that the device asked from."""
        scopes: list[Scope]
        created_at: str
        expires_at: str


class DeviceToken(Model):
    """The key of a device whose sign-in was approved."""

    _fields = {
        "key_id": None,
        "name": None,
        "account_id": None,
        "email": None,
        "scopes": None,
        "expires_at": None,
        "secret": None,
    }
    _sensitive = frozenset(["secret"])

    if TYPE_CHECKING:
        key_id: str
        name: str | None
        account_id: str
        email: str
        scopes: list[Scope]
        expires_at: str
        secret: str
        """Returned only once; stored only as a hash."""


class Domain(Model):
    _fields = {
        "id": None,
        "hostname": None,
        "primary": None,
        "redirect_to_primary": None,
        "status": None,
        "reason": None,
        "challenge": "Challenge",
        "tls": "Tls",
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        hostname: str
        primary: bool
        """It is the `domain` of the site."""
        redirect_to_primary: bool
        """Visitors are redirected to the primary domain, with the same path."""
        status: DomainStatus
        """`pending`: looked up repeatedly until it is proved. `verified`: served. `failed`: not proved within
        7 days, or proved by another account; `verify` starts again.
        """
        reason: str | None
        """What was looked up and found, and what to do. Null once the name is verified."""
        challenge: Challenge | None
        """A DNS record that proves the name, also before it points here. Null once it was found. A name that
        is verified because it points here needs it only to have its DNS zone here.
        """
        tls: Tls
        created_at: str


class Endpoint(Model):
    _fields = {
        "id": None,
        "url": None,
        "event_types": None,
        "description": None,
        "enabled": None,
        "disabled_reason": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        url: str
        """HTTPS, port 443 or 8443, publicly reachable."""
        event_types: list[str]
        """`*`, event types, or `category:<name>` for all current and future types of a category."""
        description: str | None
        enabled: bool
        disabled_reason: str | None
        """Why the endpoint was disabled automatically."""
        created_at: str


class Engine(Model):
    _fields = {"status": None, "clamav": None, "rules": None}

    if TYPE_CHECKING:
        status: EngineStatus
        """Of the last scan; `unknown` before the first one."""
        clamav: str
        rules: str


class Environment(Model):
    _fields = {
        "id": None,
        "site_id": None,
        "type": None,
        "branch": None,
        "git_ref": None,
        "subdomain": None,
        "status": None,
        "status_reason": None,
        "last_active": None,
        "lock_reason": None,
        "locked_at": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        site_id: str
        type: EnvironmentType
        """`production` is returned only when it is requested by that name."""
        branch: str | None
        git_ref: str | None
        """The branch or tag of the live release."""
        subdomain: str
        status: EnvironmentStatus
        status_reason: str | None
        """Why the environment is `failed`."""
        last_active: str | None
        """The time of the last visit."""
        lock_reason: str | None
        """Why nothing is deployed to the environment."""
        locked_at: str | None
        """Since when it is locked."""
        created_at: str


class EnvironmentAccess(Model):
    _fields = {
        "env_id": None,
        "type": None,
        "branch": None,
        "ssh": "SshAddress",
        "sftp": "SftpAddress",
        "database": "DatabaseAddress",
    }

    if TYPE_CHECKING:
        env_id: str
        type: str
        branch: str | None
        ssh: SshAddress
        sftp: SftpAddress
        database: DatabaseAddress


class EnvironmentConfiguration(Model):
    _fields = {"inherited": "Configuration", "override": "Override", "effective": "Configuration"}

    if TYPE_CHECKING:
        inherited: Configuration
        override: Override
        effective: Configuration


class Event(Model):
    _fields = {
        "id": None,
        "type": None,
        "site_id": None,
        "env_id": None,
        "job_id": None,
        "data": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        type: str
        site_id: str | None
        """Null if the event does not concern a site."""
        env_id: str | None
        """Null if the event does not concern an environment."""
        job_id: str | None
        data: dict[str, Any]
        """The payload; its fields depend on `type`."""
        created_at: str


class EventType(Model):
    _fields = {
        "type": None,
        "category": None,
        "title": None,
        "severity": None,
        "in_app": None,
        "email": None,
        "schema": None,
        "example": None,
    }

    if TYPE_CHECKING:
        type: str
        category: Category
        title: str
        severity: Severity
        in_app: bool
        """Whether the event creates a notification."""
        email: bool
        """Whether the notification is also sent by email."""
        schema: dict[str, Any]
        """JSON Schema of `data`."""
        example: dict[str, Any]
        """An example of `data`."""


class EventTypes(Model):
    _fields = {"event_types": "*EventType"}

    if TYPE_CHECKING:
        event_types: list[EventType]


class Function(Model):
    _fields = {
        "id": None,
        "site_id": None,
        "slug": None,
        "display_name": None,
        "language": None,
        "bindings": "*Binding",
        "env": None,
        "secret_refs": None,
        "limits": "Limits",
        "route_path": None,
        "fresh_instances": None,
        "compatibility_date": None,
        "url": None,
        "build_status": None,
        "status_reason": None,
        "active_version_id": None,
        "last_build_job_id": None,
        "last_artifact_id": None,
        "created_at": None,
        "updated_at": None,
    }

    if TYPE_CHECKING:
        id: str
        site_id: str
        slug: str
        """Lowercase letters, digits and hyphens; unique in the site."""
        display_name: str
        language: Language
        bindings: list[Binding]
        env: dict[str, str]
        """Variables of the function. For secrets, use `secret_refs`."""
        secret_refs: list[str]
        """Keys of secrets of the production environment, which the function reads as variables."""
        limits: Limits
        route_path: str
        """The path that the function answers, and everything below it; `/_fn/<slug>` if empty."""
        fresh_instances: bool
        """Whether every request gets an instance of its own. Otherwise an instance handles up to 1,000
        requests, one at a time.
        """
        compatibility_date: str
        """The interfaces of the platform behave as they did on this day, whatever changes later. Applies from
        the next build on.
        """
        url: str
        """Where it answers when it is deployed."""
        build_status: FunctionBuildStatus
        status_reason: str | None
        """Why the last build or deployment failed."""
        active_version_id: str | None
        last_build_job_id: str | None
        last_artifact_id: str | None
        created_at: str
        updated_at: str


class FunctionVersion(Model):
    _fields = {"id": None, "artifact_id": None, "digest": None, "created_at": None, "active": None}

    if TYPE_CHECKING:
        id: str
        artifact_id: str
        digest: str
        """The SHA-256 of its OCI manifest."""
        created_at: str
        active: bool
        """Whether visitors get this version."""


class Gap(Model):
    """Requests of this time were lost, because the node could not send them for too long."""

    _fields = {"start": None, "end": None}

    if TYPE_CHECKING:
        start: str
        end: str


class HeaderSetting(Model):
    """Response headers for all paths of a static site that match."""

    _fields = {"for_": None, "values": None}
    _renamed = {"for_": "for"}

    if TYPE_CHECKING:
        for_: str
        """A path. `:name` matches one segment, and `/*` at the end any rest."""
        values: dict[str, str | None]
        """Headers by name; null removes what the site or an earlier entry has set."""


class Invite(Model):
    _fields = {"id": None, "role": None, "email": None, "expires_at": None, "created_at": None}

    if TYPE_CHECKING:
        id: str
        role: Role
        email: str | None
        expires_at: str
        created_at: str


class Job(Model):
    _fields = {
        "id": None,
        "type": None,
        "status": None,
        "progress": None,
        "created_at": None,
        "resource": None,
        "result": None,
        "error": None,
        "links": "JobLinks",
    }

    if TYPE_CHECKING:
        id: str
        type: str
        status: JobStatus
        progress: float
        """0 when queued, 0.5 when running, 1 when ended."""
        created_at: str
        resource: dict[str, Any]
        """The resource of the job: `type`, `id`, `site_id`, and `env_id` if it has one."""
        result: dict[str, Any] | None
        """Set when the job has succeeded."""
        error: dict[str, Any] | None
        """Set when the job has failed."""
        links: JobLinks


class JobLinks(Model):
    _fields = {"self": None, "stream": None}

    if TYPE_CHECKING:
        self: str
        stream: str


class Key(Model):
    _fields = {
        "id": None,
        "name": None,
        "prefix": None,
        "last4": None,
        "scopes": None,
        "resource": "Pin",
        "ip_allowlist": None,
        "expires_at": None,
        "last_used_at": None,
        "revoked_at": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        name: str | None
        prefix: str
        last4: str
        scopes: list[Scope]
        resource: Pin | None
        """The only resource that the key can see."""
        ip_allowlist: list[str]
        """IPv4 and IPv6 addresses and CIDRs that the key may be used from. Empty: any address."""
        expires_at: str
        last_used_at: str | None
        """Accurate to the minute."""
        revoked_at: str | None
        created_at: str


class Lease(Model):
    _fields = {"metrics_token": None, "lease_expires_at": None}
    _sensitive = frozenset(["metrics_token"])

    if TYPE_CHECKING:
        metrics_token: str
        """Returned only once."""
        lease_expires_at: str


class Limits(Model):
    _fields = {"memory_mb": None, "wall_ms": None, "request_bytes": None, "requests_per_second": None}

    if TYPE_CHECKING:
        memory_mb: int | None
        wall_ms: int | None
        """How long a request may take."""
        request_bytes: int | None
        requests_per_second: int | None


class Lock(Model):
    _fields = {"reason": None, "locked_at": None}

    if TYPE_CHECKING:
        reason: str
        locked_at: str


class Lockfile(Model):
    """What the files of Composer say about the version."""

    _fields = {"constraint": None, "required_by": None, "allows": None}

    if TYPE_CHECKING:
        constraint: str
        required_by: str
        """A package, or `composer.json` for the project itself."""
        allows: bool
        """Also true for a requirement that the current version does not meet either: it is no reason to stay
        on it.
        """


class LogBucket(Model):
    _fields = {"ts": None, "lines": None, "severities": None}

    if TYPE_CHECKING:
        ts: str
        """When the bucket begins."""
        lines: int
        severities: dict[str, int]


class LogLine(Model):
    _fields = {
        "ts": None,
        "site_id": None,
        "severity_text": None,
        "body": None,
        "container": None,
        "service_name": None,
        "trace_id": None,
    }

    if TYPE_CHECKING:
        ts: str
        site_id: str
        severity_text: str
        body: str
        """Addresses are cut to networks, mail addresses and query strings are removed."""
        container: str
        service_name: str
        trace_id: str | None


class LogVolume(Model):
    _fields = {
        "hours": None,
        "bucket_seconds": None,
        "lines": None,
        "buckets": "*LogBucket",
        "truncated": None,
        "as_of": None,
        "gaps": "*Gap",
    }

    if TYPE_CHECKING:
        hours: int
        bucket_seconds: int
        lines: int
        """In the whole window."""
        buckets: list[LogBucket]
        """Oldest first, also those without lines."""
        truncated: bool
        """You have more sites than were counted."""
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class Logs(Model):
    _fields = {"hours": None, "lines": "*LogLine", "truncated": None, "as_of": None, "gaps": "*Gap"}

    if TYPE_CHECKING:
        hours: int
        lines: list[LogLine]
        """Newest first."""
        truncated: bool
        """There is more than the answer shows."""
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class MagicLink(Model):
    _fields = {"url": None, "expires_at": None}
    _sensitive = frozenset(["url"])

    if TYPE_CHECKING:
        url: str
        """Whoever has it can sign in, once. Returned only once; stored only as a hash."""
        expires_at: str


class Mail(Model):
    """A mail that an environment tried to send."""

    _fields = {
        "id": None,
        "captured_at": None,
        "sender": None,
        "recipients": None,
        "subject": None,
        "text": None,
        "size": None,
    }

    if TYPE_CHECKING:
        id: str
        captured_at: str
        sender: str
        """As the site has set it."""
        recipients: list[str]
        subject: str
        text: str
        """The beginning of the text, or of the HTML if there is no text."""
        size: int
        """Of the whole message, in bytes."""


class Malware(Model):
    _fields = {
        "engine": "Engine",
        "last_scan": "Scan",
        "next_scan_at": None,
        "active": None,
        "truncated": None,
        "detections": "*Detection",
    }

    if TYPE_CHECKING:
        engine: Engine
        last_scan: Scan | None
        next_scan_at: str | None
        active: int
        """How many detections are active."""
        truncated: bool
        """Whether there are more than the response has."""
        detections: list[Detection]
        """The active detections, newest first. At most 200."""


class Marked(Model):
    _fields = {"updated": None}

    if TYPE_CHECKING:
        updated: int
        """How many notifications were unread before."""


class Member(Model):
    _fields = {
        "id": None,
        "client_id": None,
        "email": None,
        "name": None,
        "role": None,
        "expires_at": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        client_id: str
        email: str
        name: str
        role: Role
        expires_at: str | None
        created_at: str


class Meta(Model):
    _fields = {"key": None, "value": None}

    if TYPE_CHECKING:
        key: str
        value: str
        """Lists and objects are JSON."""


class Metric(Model):
    _fields = {
        "name": None,
        "hours": None,
        "bucket_seconds": None,
        "points": "*MetricPoint",
        "truncated": None,
        "as_of": None,
        "gaps": "*Gap",
    }

    if TYPE_CHECKING:
        name: Name
        hours: int
        bucket_seconds: int
        points: list[MetricPoint]
        """Newest first; there is none for a site without requests in a bucket."""
        truncated: bool
        """There is more than the answer shows."""
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class MetricPoint(Model):
    _fields = {"ts": None, "site_id": None, "value": None}

    if TYPE_CHECKING:
        ts: str
        """When the bucket begins."""
        site_id: str
        value: float | None
        """`null` if there was nothing to measure."""


class MintedKey(Model):
    _fields = {
        "id": None,
        "name": None,
        "prefix": None,
        "last4": None,
        "scopes": None,
        "resource": "Pin",
        "ip_allowlist": None,
        "expires_at": None,
        "last_used_at": None,
        "revoked_at": None,
        "created_at": None,
        "secret": None,
    }
    _sensitive = frozenset(["secret"])

    if TYPE_CHECKING:
        id: str
        name: str | None
        prefix: str
        last4: str
        scopes: list[Scope]
        resource: Pin | None
        """The only resource that the key can see."""
        ip_allowlist: list[str]
        """IPv4 and IPv6 addresses and CIDRs that the key may be used from. Empty: any address."""
        expires_at: str
        last_used_at: str | None
        """Accurate to the minute."""
        revoked_at: str | None
        created_at: str
        secret: str
        """Returned only once; stored only as a hash."""


class NewCredential(Model):
    _fields = {"kind": None, "env_id": None, "user": None, "password": None, "created_at": None}
    _sensitive = frozenset(["password"])

    if TYPE_CHECKING:
        kind: CredentialKind
        env_id: str
        user: str
        """As in the credentials of the site."""
        password: str
        """Returned only once."""
        created_at: str


class NewPassword(Model):
    _fields = {"username": None, "password": None, "job_id": None}
    _sensitive = frozenset(["password"])

    if TYPE_CHECKING:
        username: str
        """The administrator of the site."""
        password: str
        """Returned only once; stored only as a hash."""
        job_id: str
        """The password is valid when this job has succeeded. If it fails, the earlier password stays."""


class Notification(Model):
    _fields = {
        "id": None,
        "type": None,
        "category": None,
        "severity": None,
        "site_id": None,
        "title": None,
        "body": None,
        "payload": None,
        "read_at": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        type: str
        category: str
        severity: Severity
        site_id: str | None
        title: str
        body: str
        payload: dict[str, Any]
        """`data` of the event."""
        read_at: str | None
        created_at: str


class Observability(Model):
    _fields = {"trace_sample_rate": None}

    if TYPE_CHECKING:
        trace_sample_rate: float


class ObservabilityOverride(Model):
    _fields = {"trace_sample_rate": None}

    if TYPE_CHECKING:
        trace_sample_rate: float | None


class Override(Model):
    """Only the settings of this environment itself."""

    _fields = {
        "security": "SecurityOverride",
        "performance": "PerformanceOverride",
        "observability": "ObservabilityOverride",
        "serving": "ServingOverride",
    }

    if TYPE_CHECKING:
        security: SecurityOverride | None
        performance: PerformanceOverride | None
        observability: ObservabilityOverride | None
        serving: ServingOverride | None


class PageVital(Model):
    _fields = {"path": None, "samples": None, "p75": None, "rating": None}

    if TYPE_CHECKING:
        path: str
        """Without the query string."""
        samples: int
        """Page views that were measured."""
        p75: float | None
        """In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples."""
        rating: Rating
        """Of `p75`, by the thresholds of web vitals."""


class Pages(Model):
    _fields = {
        "metric": None,
        "days": None,
        "pages": "*PageVital",
        "truncated": None,
        "as_of": None,
        "gaps": "*Gap",
    }

    if TYPE_CHECKING:
        metric: PagesMetric
        days: int
        """The length of the window, rounded up."""
        pages: list[PageVital]
        """Those with most samples first."""
        truncated: bool
        """There are more than `limit`."""
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class Performance(Model):
    _fields = {
        "page_cache_ttl": None,
        "php_workers": None,
        "hot_page_count": None,
        "hot_ttl_seconds": None,
        "hot_refresh_interval_seconds": None,
    }

    if TYPE_CHECKING:
        page_cache_ttl: int
        """In seconds; 0 disables the cache."""
        php_workers: int
        hot_page_count: int
        hot_ttl_seconds: int
        hot_refresh_interval_seconds: int


class PerformanceOverride(Model):
    _fields = {
        "page_cache_ttl": None,
        "php_workers": None,
        "hot_page_count": None,
        "hot_ttl_seconds": None,
        "hot_refresh_interval_seconds": None,
    }

    if TYPE_CHECKING:
        page_cache_ttl: int | None
        php_workers: int | None
        hot_page_count: int | None
        hot_ttl_seconds: int | None
        hot_refresh_interval_seconds: int | None


class PhpSwitchPreview(Model):
    _fields = {
        "from_": None,
        "to": None,
        "from_image": None,
        "to_image": None,
        "environments": "*PreviewedEnvironment",
        "lockfile": "Lockfile",
        "would_apply": None,
    }
    _renamed = {"from_": "from"}

    if TYPE_CHECKING:
        from_: str | None
        to: str
        from_image: str | None
        to_image: str
        environments: list[PreviewedEnvironment]
        """Those that would be switched, in this order."""
        lockfile: Lockfile | None
        """Of the first environment that forbids the version, or else of the first with one."""
        would_apply: bool
        """Whether the request would be accepted without `dry_run`. Its job checks more before it changes
        anything: exact versions, extensions, plugins, the theme and the front page.
        """


class Pin(Model):
    """The one resource that a key may see."""

    _fields = {"type": None, "id": None}

    if TYPE_CHECKING:
        type: PinType
        id: str


class Plan(Model):
    _fields = {"plan": None, "label": None, "limits": "PlanLimits", "usage": "Usage"}

    if TYPE_CHECKING:
        plan: str
        label: str
        limits: PlanLimits
        usage: Usage


class PlanLimits(Model):
    _fields = {
        "max_sites": None,
        "max_environments": None,
        "max_branches_per_site": None,
        "max_concurrent_jobs": None,
        "max_storage_gb": None,
    }

    if TYPE_CHECKING:
        max_sites: int
        max_environments: int
        max_branches_per_site: int
        max_concurrent_jobs: int
        max_storage_gb: int


class Preference(Model):
    _fields = {"category": None, "email": None}

    if TYPE_CHECKING:
        category: Category
        email: bool
        """Whether notifications of this category are also sent by email."""


class Preferences(Model):
    _fields = {"preferences": "*Preference"}

    if TYPE_CHECKING:
        preferences: list[Preference]


class PreviewedEnvironment(Model):
    _fields = {"env_id": None, "type": None, "branch": None, "lockfile": "Lockfile"}

    if TYPE_CHECKING:
        env_id: str
        type: str
        branch: str | None
        lockfile: Lockfile | None
        """Null without a release, or without a requirement of PHP."""


class Project(Model):
    _fields = {"id": None, "name": None, "team_id": None, "created_at": None}

    if TYPE_CHECKING:
        id: str
        name: str
        team_id: str | None
        """`null` for a project of an account."""
        created_at: str


class QueryResult(Model):
    _fields = {"columns": None, "rows": None, "row_count": None, "truncated": None}

    if TYPE_CHECKING:
        columns: list[str]
        """A second column of the same name gets a number."""
        rows: list[dict[str, Any]]
        """Numbers with decimals and times are text; bytes that are no text begin with `0x`."""
        row_count: int
        truncated: bool
        """There are more rows than `limit`, or than 512 KiB."""


class QueuedJob(Model):
    """The short form of a new job, in responses of functions."""

    _fields = {"job_id": None, "status": None}

    if TYPE_CHECKING:
        job_id: str
        status: str


class RateLimits(Model):
    _fields = {"buckets": "*ClassBucket", "team_ceiling": "Bucket"}

    if TYPE_CHECKING:
        buckets: list[ClassBucket]
        team_ceiling: Bucket


class Record(Model):
    _fields = {
        "id": None,
        "type": None,
        "name": None,
        "value": None,
        "ttl": None,
        "priority": None,
        "published": None,
        "delegation": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        type: RecordType
        name: str
        """The complete name."""
        value: str
        ttl: int
        """In seconds."""
        priority: int | None
        published: bool
        """Whether the name servers have it. This takes seconds, once the domain is verified."""
        delegation: Delegation
        """Whether the domain of the zone is delegated to the name servers of the platform: `complete`;
        `partial`, if it also has others; or `none`. It is looked up within minutes.
        """
        created_at: str


class RedirectRule(Model):
    _fields = {"from_": None, "to": None, "code": None}
    _renamed = {"from_": "from"}

    if TYPE_CHECKING:
        from_: str
        """A path of the site. A trailing `*` matches any rest of the path."""
        to: str
        """A path or an absolute URL. A trailing `*` is replaced by the matched rest."""
        code: RedirectRuleCode


class Redirects(Model):
    _fields = {"redirects": "*RedirectRule"}

    if TYPE_CHECKING:
        redirects: list[RedirectRule]


class Release(Model):
    _fields = {
        "id": None,
        "artifact_id": None,
        "digest": None,
        "ref": None,
        "status": None,
        "current": None,
        "deployed_at": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        """The id of the deployment."""
        artifact_id: str
        digest: str
        """The SHA-256 of its OCI manifest."""
        ref: str | None
        """The branch or tag it was built from."""
        status: ReleaseStatus
        current: bool
        """Whether visitors see this release now."""
        deployed_at: str
        created_at: str


class Request(Model):
    _fields = {
        "ts": None,
        "host": None,
        "method": None,
        "path": None,
        "status": None,
        "duration_ms": None,
        "first_byte_ms": None,
        "bytes_in": None,
        "bytes_out": None,
        "cache": None,
        "firewall": None,
        "network": None,
        "tls": None,
        "agent": None,
        "device": None,
        "trace_id": None,
        "release": None,
        "reason": None,
        "function_version_id": None,
        "cpu_ms": None,
        "memory_bytes": None,
    }

    if TYPE_CHECKING:
        ts: str
        host: str
        method: str
        path: str
        """Without the query string."""
        status: int
        duration_ms: int
        """From the first byte of the request to the last of the response."""
        first_byte_ms: int | None
        """Until the response began. `null` if it was not measured."""
        bytes_in: int
        bytes_out: int
        cache: str | None
        """What the page cache did: `HIT`, `MISS`, …"""
        firewall: str | None
        """What the web application firewall found."""
        network: str
        """The /24 or /48 network of the visitor. Addresses are not stored."""
        tls: str | None
        agent: str
        """The family of the visitor's program."""
        device: Device
        trace_id: str
        release: str | None
        """The release that answered."""
        reason: str | None
        """Why the edge answered itself."""
        function_version_id: str | None
        """The version of the function that was asked."""
        cpu_ms: float | None
        """Of the function: how long it has computed."""
        memory_bytes: int | None
        """Of the function: the most memory that its process has had."""


class RequestVolume(Model):
    _fields = {
        "hours": None,
        "bucket_seconds": None,
        "requests": None,
        "errors": None,
        "buckets": "*VolumeBucket",
        "truncated": None,
        "as_of": None,
        "gaps": "*Gap",
    }

    if TYPE_CHECKING:
        hours: int
        bucket_seconds: int
        requests: int
        """In the whole window."""
        errors: int
        buckets: list[VolumeBucket]
        """Oldest first, also those without requests."""
        truncated: bool
        """Always false: requests are counted, not sampled."""
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class Requests(Model):
    _fields = {"hours": None, "requests": "*Request", "truncated": None, "as_of": None, "gaps": "*Gap"}

    if TYPE_CHECKING:
        hours: int
        requests: list[Request]
        """Newest first."""
        truncated: bool
        """There are more than `limit`."""
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class Resources(Model):
    _fields = {
        "hours": None,
        "bucket_seconds": None,
        "containers": "*ContainerSeries",
        "app": "*AppPoint",
        "truncated": None,
        "as_of": None,
        "gaps": "*Gap",
    }

    if TYPE_CHECKING:
        hours: int
        bucket_seconds: int
        containers: list[ContainerSeries]
        """Static sites have no containers."""
        app: list[AppPoint]
        """Oldest first; there is none without requests."""
        truncated: bool
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class RevealedEndpoint(Model):
    _fields = {
        "id": None,
        "url": None,
        "event_types": None,
        "description": None,
        "enabled": None,
        "disabled_reason": None,
        "created_at": None,
        "secret": None,
    }
    _sensitive = frozenset(["secret"])

    if TYPE_CHECKING:
        id: str
        url: str
        """HTTPS, port 443 or 8443, publicly reachable."""
        event_types: list[str]
        """`*`, event types, or `category:<name>` for all current and future types of a category."""
        description: str | None
        enabled: bool
        disabled_reason: str | None
        """Why the endpoint was disabled automatically."""
        created_at: str
        secret: str
        """The secret that signs deliveries. Shown only once."""


class RolledKey(Model):
    _fields = {
        "id": None,
        "name": None,
        "secret": None,
        "prefix": None,
        "last4": None,
        "scopes": None,
        "created_at": None,
    }
    _sensitive = frozenset(["secret"])

    if TYPE_CHECKING:
        id: str
        name: str | None
        secret: str
        """Returned only once; stored only as a hash."""
        prefix: str
        last4: str
        scopes: list[Scope]
        created_at: str


class Runtime(Model):
    _fields = {"runtime": None, "profiles": None, "status": None, "capabilities": "*Capability"}

    if TYPE_CHECKING:
        runtime: str
        profiles: list[str]
        status: RuntimeStatus
        """`available`: a node of this installation runs such sites. `planned`: none does yet."""
        capabilities: dict[str, Capability]


class Runtimes(Model):
    _fields = {"runtimes": "*Runtime"}

    if TYPE_CHECKING:
        runtimes: list[Runtime]


class Scan(Model):
    _fields = {
        "id": None,
        "site_id": None,
        "env_id": None,
        "job_id": None,
        "kind": None,
        "cause": None,
        "status": None,
        "started_at": None,
        "finished_at": None,
        "files": None,
        "scanned": None,
        "unchanged": None,
        "failed": None,
        "failures": None,
        "bytes": None,
        "duration_ms": None,
        "found": None,
        "omitted": None,
        "unfinished": None,
        "clamav": None,
        "rules": None,
        "error": None,
    }

    if TYPE_CHECKING:
        id: str
        site_id: str
        env_id: str
        job_id: str
        kind: ScanKind
        """`incremental`: only what has changed since the last scan."""
        cause: Cause
        status: ScanStatus
        """An `error` says nothing about the site: the scan is repeated."""
        started_at: str
        finished_at: str | None
        files: int
        scanned: int
        unchanged: int
        """Unchanged, or known to be good."""
        failed: int
        """Files without a result."""
        failures: list[str]
        """The first of them, and why."""
        bytes: int
        duration_ms: int
        found: int
        omitted: int
        """Infected files beyond the limit."""
        unfinished: int
        """Files of `failed` for which the scan had no time. The next one goes on with them."""
        clamav: str
        """The version of ClamAV and its signatures."""
        rules: str
        """The version of the rules."""
        error: str | None
        """Why there is no result."""


class Secret(Model):
    _fields = {"name": None, "plain": None, "previews": None, "value": None, "updated_at": None}

    if TYPE_CHECKING:
        name: str
        plain: bool
        """It is not a secret: its value is returned, and not masked in the output of builds."""
        previews: bool
        """Only for production: builds of branch environments get it too, unless they have one of the same
        name.
        """
        value: str | None
        """Only of a plain variable. A secret is never returned."""
        updated_at: str


class Security(Model):
    _fields = {
        "waf_engine_mode": None,
        "ip_reputation_enabled": None,
        "login_lockout_enabled": None,
        "magic_links_enabled": None,
        "allowed_ips": None,
        "hsts_seconds": None,
        "waf_partner_client_id": None,
        "waf_partner_secret_key_set": None,
        "preview_protection": None,
        "preview_password_set": None,
    }

    if TYPE_CHECKING:
        waf_engine_mode: WafEngineMode
        ip_reputation_enabled: bool
        login_lockout_enabled: bool
        magic_links_enabled: bool
        """Whether sign-in links can be created and used, on WordPress sites."""
        allowed_ips: list[str]
        """Addresses and networks that may visit; an empty list allows everyone."""
        hsts_seconds: int
        """For how long browsers must use HTTPS, once there is a certificate; 0 sends no header."""
        waf_partner_client_id: str | None
        waf_partner_secret_key_set: bool
        """Whether a key is set. The key itself is never returned."""
        preview_protection: PreviewProtection
        """Who may see environments other than production, and the permanent URLs of deployments: everyone,
        those who know `preview_password`, or those who can see the site in the API and sign in.
        """
        preview_password_set: bool
        """Whether a password is set. It is never returned."""


class SecurityOverride(Model):
    _fields = {
        "waf_engine_mode": None,
        "ip_reputation_enabled": None,
        "login_lockout_enabled": None,
        "magic_links_enabled": None,
        "allowed_ips": None,
        "hsts_seconds": None,
        "waf_partner_client_id": None,
        "waf_partner_secret_key_set": None,
        "preview_protection": None,
        "preview_password_set": None,
    }

    if TYPE_CHECKING:
        waf_engine_mode: WafEngineMode | None
        ip_reputation_enabled: bool | None
        login_lockout_enabled: bool | None
        magic_links_enabled: bool | None
        """Whether sign-in links can be created and used, on WordPress sites."""
        allowed_ips: list[str] | None
        """Addresses and networks that may visit; an empty list allows everyone."""
        hsts_seconds: int | None
        """For how long browsers must use HTTPS, once there is a certificate; 0 sends no header."""
        waf_partner_client_id: str | None
        waf_partner_secret_key_set: bool | None
        """Whether a key is set. The key itself is never returned."""
        preview_protection: PreviewProtection | None
        """Who may see environments other than production, and the permanent URLs of deployments: everyone,
        those who know `preview_password`, or those who can see the site in the API and sign in.
        """
        preview_password_set: bool | None
        """Whether a password is set. It is never returned."""


class SecurityRow(Model):
    _fields = {
        "site_id": None,
        "slug": None,
        "domain": None,
        "critical": None,
        "high": None,
        "medium": None,
        "low": None,
        "vuln_total": None,
        "malware_active": None,
        "last_scan_at": None,
        "last_scan_outcome": None,
    }

    if TYPE_CHECKING:
        site_id: str
        slug: str
        domain: str
        critical: int
        high: int
        medium: int
        low: int
        vuln_total: int
        """Also those without a rating."""
        malware_active: int
        last_scan_at: str | None
        last_scan_outcome: LastScanOutcome | None


class SecuritySummary(Model):
    _fields = {"truncated": None, "sites": "*SecurityRow"}

    if TYPE_CHECKING:
        truncated: bool
        """Whether there are more sites than the response has."""
        sites: list[SecurityRow]


class Server(Model):
    _fields = {"p75_ttfb_ms": None, "p95_ttfb_ms": None, "cache_hit_pct": None, "samples": None}

    if TYPE_CHECKING:
        p75_ttfb_ms: float | None
        p95_ttfb_ms: float | None
        cache_hit_pct: float | None
        """Of the requests for pages that may be cached. `null` without any."""
        samples: int
        """Requests."""


class Serving(Model):
    _fields = {"headers": "*HeaderSetting"}

    if TYPE_CHECKING:
        headers: list[HeaderSetting]


class ServingOverride(Model):
    _fields = {"headers": "*HeaderSetting"}

    if TYPE_CHECKING:
        headers: list[HeaderSetting] | None


class Session(Model):
    _fields = {"id": None, "token": None, "account_id": None, "expires_at": None, "created_at": None}
    _sensitive = frozenset(["token"])

    if TYPE_CHECKING:
        id: str
        token: str
        """A Bearer credential, shown once."""
        account_id: str
        expires_at: str
        """Each use extends the session, up to 30 days after sign-in."""
        created_at: str


class SessionSummary(Model):
    _fields = {
        "id": None,
        "current": None,
        "address": None,
        "user_agent": None,
        "created_at": None,
        "last_used_at": None,
        "expires_at": None,
    }

    if TYPE_CHECKING:
        id: str
        current: bool
        """Whether this request uses the session."""
        address: str | None
        """The address that signed in."""
        user_agent: str | None
        """The program that signed in, as it named itself."""
        created_at: str
        last_used_at: str
        expires_at: str


class SftpAddress(Model):
    _fields = {"host": None, "port": None, "user": None, "has_password": None, "password_created_at": None}

    if TYPE_CHECKING:
        host: str
        """It changes when the environment moves to another node."""
        port: int
        user: str
        """Selects the environment."""
        has_password: bool
        """Whether a password opens it besides keys. It is never returned."""
        password_created_at: str | None


class SignedUp(Model):
    _fields = {"id": None, "email": None, "name": None}

    if TYPE_CHECKING:
        id: str
        email: str
        name: str


class Site(Model):
    _fields = {
        "id": None,
        "slug": None,
        "domain": None,
        "profile": None,
        "runtime": None,
        "php_version": None,
        "region": None,
        "git_repo": None,
        "git_branch": None,
        "team_id": None,
        "project_id": None,
        "status": None,
        "status_reason": None,
        "recoverable_until": None,
        "created_at": None,
        "challenge": "Challenge",
    }

    if TYPE_CHECKING:
        id: str
        slug: str
        """Assigned by the platform; safe in URLs and host names."""
        domain: str
        profile: Profile
        runtime: SiteRuntime
        php_version: str | None
        region: str
        git_repo: str | None
        git_branch: str | None
        team_id: str | None
        project_id: str | None
        status: SiteStatus
        status_reason: str | None
        """Why the site is not `running`."""
        recoverable_until: str | None
        created_at: str
        challenge: Challenge | None
        """A DNS record that proves `domain`, also before it points here. Null once the domain is verified;
        `…/environments/production/domains` has the details.
        """


class SiteStorage(Model):
    _fields = {"site_id": None, "bytes": None, "series": "*StorageDay"}

    if TYPE_CHECKING:
        site_id: str
        bytes: int
        """Unpacked artifacts and uploads, as they count for the plan."""
        series: list[StorageDay]
        """The last 30 days, oldest first."""


class Snapshot(Model):
    _fields = {
        "id": None,
        "site_id": None,
        "env_id": None,
        "kind": None,
        "tags": None,
        "taken_at": None,
        "size_bytes": None,
        "verified_at": None,
        "synced_at": None,
        "retention_reason": None,
    }

    if TYPE_CHECKING:
        id: str
        site_id: str
        env_id: str
        """The environment that it shows."""
        kind: SnapshotKind
        """Why it was taken."""
        tags: str
        """How it came to be: `scheduled` or `on-demand`."""
        taken_at: str
        size_bytes: int
        """The size of the files and rows when they are restored."""
        verified_at: str | None
        """When it was restored on trial and compared with the original. WordPress was also started and has
        answered, except for `before_restore`, `before_quarantine` and `site_deleted`: these sites may be
        broken. Null if this has not happened.
        """
        synced_at: str | None
        """When it was copied to the second store. Null if it was not."""
        retention_reason: str | None
        """Why it is kept beyond the normal window of the plan."""


class Span(Model):
    _fields = {
        "ts": None,
        "site_id": None,
        "trace_id": None,
        "span_id": None,
        "parent_id": None,
        "service": None,
        "name": None,
        "duration_ms": None,
        "status": None,
        "status_code": None,
    }

    if TYPE_CHECKING:
        ts: str
        """When it began."""
        site_id: str
        trace_id: str
        span_id: str
        parent_id: str | None
        """The span that it is a part of."""
        service: str
        name: str
        duration_ms: float
        status: SpanStatus
        status_code: int | None
        """Of the response, if it has one."""


class SshAddress(Model):
    _fields = {"host": None, "port": None, "user": None}

    if TYPE_CHECKING:
        host: str
        """It changes when the environment moves to another node."""
        port: int
        user: str
        """Selects the environment."""


class SshKey(Model):
    _fields = {
        "id": None,
        "client_id": None,
        "label": None,
        "type": None,
        "fingerprint": None,
        "public_key": None,
        "may_run_commands": None,
        "created_at": None,
    }

    if TYPE_CHECKING:
        id: str
        client_id: str
        """Whose key it is."""
        label: str
        type: str
        fingerprint: str
        public_key: str
        may_run_commands: bool
        """Whether it opens a shell. Otherwise it transfers files and reaches the database."""
        created_at: str


class SshKeys(Model):
    _fields = {"keys": "*SshKey"}

    if TYPE_CHECKING:
        keys: list[SshKey]


class StartedDevice(Model):
    _fields = {
        "device_code": None,
        "user_code": None,
        "verification_uri": None,
        "verification_uri_complete": None,
        "expires_in": None,
        "interval": None,
    }
    _sensitive = frozenset(["device_code"])

    if TYPE_CHECKING:
        device_code: str
        """The secret of the device. Nobody else may know it."""
        user_code: str
        """What the device shows, and people compare."""
        verification_uri: str
        """Where people approve."""
        verification_uri_complete: str
        """The same page, with the code filled in."""
        expires_in: int
        """In seconds."""
        interval: int
        """Seconds between two requests for the key."""


class StatementResult(Model):
    _fields = {"affected_rows": None, "applied": None}

    if TYPE_CHECKING:
        affected_rows: int
        applied: bool
        """False if it was a dry run."""


class Storage(Model):
    _fields = {"days": None, "sites": "*SiteStorage", "truncated": None, "as_of": None}

    if TYPE_CHECKING:
        days: int
        """The length of the series."""
        sites: list[SiteStorage]
        """Newest first."""
        truncated: bool
        """You have more sites than are shown."""
        as_of: str


class StorageDay(Model):
    _fields = {"date": None, "bytes": None}

    if TYPE_CHECKING:
        date: str
        bytes: int


class Summary(Model):
    _fields = {
        "rum": "*Vital",
        "server": "Server",
        "days": None,
        "truncated": None,
        "as_of": None,
        "gaps": "*Gap",
    }

    if TYPE_CHECKING:
        rum: list[Vital]
        """What the browsers of visitors have measured."""
        server: Server
        """What the edge has measured, for all requests."""
        days: int
        """The length of the window, rounded up."""
        truncated: bool
        """There are more sites than were counted."""
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class Table(Model):
    _fields = {"name": None, "rows": None, "size_bytes": None}

    if TYPE_CHECKING:
        name: str
        rows: int
        """An estimate."""
        size_bytes: int


class Team(Model):
    _fields = {"team_id": None, "name": None, "plan": None, "created_at": None, "my_role": None}

    if TYPE_CHECKING:
        team_id: str
        name: str
        plan: str
        created_at: str
        my_role: Role
        """The role of the caller in the team."""


class Terms(Model):
    _fields = {"taxonomy": None, "names": None}

    if TYPE_CHECKING:
        taxonomy: str
        names: list[str]


class Timeseries(Model):
    _fields = {
        "metric": None,
        "days": None,
        "bucket_seconds": None,
        "points": "*VitalPoint",
        "truncated": None,
        "as_of": None,
        "gaps": "*Gap",
    }

    if TYPE_CHECKING:
        metric: TimeseriesMetric
        days: int
        """The length of the window, rounded up."""
        bucket_seconds: int
        points: list[VitalPoint]
        """Oldest first; there is none without samples."""
        truncated: bool
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class Tls(Model):
    _fields = {
        "domain": None,
        "state": None,
        "ca": None,
        "issued_at": None,
        "expires_at": None,
        "error": None,
        "error_code": None,
    }

    if TYPE_CHECKING:
        domain: str
        state: TlsState
        """`unconfigured`: no certificate will be issued. `not_registered`: waiting for the first attempt.
        `pending`: not issued yet. `valid`: issued. `expired`: expired and not renewed.
        """
        ca: str | None
        """The certificate authority that issued it."""
        issued_at: str | None
        expires_at: str | None
        error: str | None
        """Why the last attempt to issue or renew the certificate failed."""
        error_code: TlsErrorCode | None
        """The reason for `error`, as a code."""


class Trace(Model):
    _fields = {"trace_id": None, "duration_ms": None, "spans": "*Span", "truncated": None}

    if TYPE_CHECKING:
        trace_id: str
        duration_ms: float
        """From the beginning of the first span to the end of the last."""
        spans: list[Span]
        """In the order in which they began. Empty if there are none."""
        truncated: bool
        """The trace has more spans than are shown."""


class Traces(Model):
    _fields = {"hours": None, "spans": "*Span", "truncated": None, "as_of": None, "gaps": "*Gap"}

    if TYPE_CHECKING:
        hours: int
        spans: list[Span]
        """Newest first."""
        truncated: bool
        """There are more than `limit`."""
        as_of: str | None
        """Everything up to then is included. `null` if nothing was received yet."""
        gaps: list[Gap]


class Transferred(Model):
    _fields = {"site_id": None, "functions_transferred": None}

    if TYPE_CHECKING:
        site_id: str
        functions_transferred: int


class Unchanged(Model):
    """The response to a change that names no setting."""

    _fields = {"changed": None, "message": None}

    if TYPE_CHECKING:
        changed: bool
        message: str


class UnknownComponent(Model):
    _fields = {"component_type": None, "component_slug": None, "component_name": None}

    if TYPE_CHECKING:
        component_type: str
        component_slug: str
        component_name: str


class Unread(Model):
    _fields = {"unread": None}

    if TYPE_CHECKING:
        unread: int


class Upload(Model):
    _fields = {
        "id": None,
        "url": None,
        "method": None,
        "headers": None,
        "expires_at": None,
        "max_bytes": None,
    }
    _sensitive = frozenset(["url"])

    if TYPE_CHECKING:
        id: str
        """Used as the `source` of a build."""
        url: str
        """Where to send the archive, unchanged. Keep the URL secret while it is valid."""
        method: str
        headers: dict[str, str]
        """Headers to send with the archive. They are part of the signature of the URL."""
        expires_at: str
        """Until when the URL accepts the archive."""
        max_bytes: int
        """The declared size."""


class Usage(Model):
    _fields = {"sites": None, "environments": None, "storage_gb": None}

    if TYPE_CHECKING:
        sites: int
        environments: int
        storage_gb: float


class Vital(Model):
    _fields = {"metric": None, "p75": None, "p90": None, "p95": None, "p99": None, "samples": None}

    if TYPE_CHECKING:
        metric: VitalMetric
        p75: float | None
        """In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples."""
        p90: float | None
        """In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples."""
        p95: float | None
        """In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples."""
        p99: float | None
        """In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples."""
        samples: int
        """Page views that were measured."""


class VitalPoint(Model):
    _fields = {"ts": None, "p75": None, "p90": None, "p95": None, "samples": None}

    if TYPE_CHECKING:
        ts: str
        """When the bucket begins."""
        p75: float
        p90: float
        p95: float
        samples: int
        """Page views that were measured."""


class VolumeBucket(Model):
    _fields = {"ts": None, "requests": None, "client_errors": None, "errors": None, "bytes_out": None}

    if TYPE_CHECKING:
        ts: str
        """When the bucket begins."""
        requests: int
        client_errors: int
        """With a status from 400 to 499."""
        errors: int
        """With a status of 500 and above."""
        bytes_out: int


class Vulnerabilities(Model):
    _fields = {
        "summary": "VulnerabilitySummary",
        "findings": "*Vulnerability",
        "unknown": "*UnknownComponent",
        "attribution": None,
    }

    if TYPE_CHECKING:
        summary: VulnerabilitySummary
        findings: list[Vulnerability]
        """The worst first. At most 500."""
        unknown: list[UnknownComponent]
        """Components whose version is unknown."""
        attribution: dict[str, Any]
        """The notices and licences of the sources of the feed, by source: `notice`, `license` and
        `license_url`.
        """


class Vulnerability(Model):
    _fields = {
        "vuln_id": None,
        "title": None,
        "component_type": None,
        "component_name": None,
        "component_slug": None,
        "installed_version": None,
        "affected_range": None,
        "fixed_version": None,
        "patched": None,
        "cvss_score": None,
        "cvss_rating": None,
        "cve": None,
        "remediation": None,
        "record_url": None,
        "copyrights": None,
        "opened_at": None,
    }

    if TYPE_CHECKING:
        vuln_id: str
        title: str
        component_type: str
        """`core`, `plugin` or `theme`."""
        component_name: str
        """As the site calls it."""
        component_slug: str
        installed_version: str
        affected_range: str
        fixed_version: str | None
        patched: bool
        cvss_score: float | None
        cvss_rating: str
        cve: str | None
        remediation: str | None
        record_url: str | None
        copyrights: dict[str, Any]
        """Whose record it is, with notices and licences. Show them with the record."""
        opened_at: str


class VulnerabilitySummary(Model):
    _fields = {
        "critical": None,
        "high": None,
        "medium": None,
        "low": None,
        "total": None,
        "checked_at": None,
        "inventory_status": None,
        "inventory_at": None,
        "feed_error": None,
    }

    if TYPE_CHECKING:
        critical: int
        high: int
        medium: int
        low: int
        total: int
        """Also those without a rating."""
        checked_at: str | None
        """When the feed was last read completely. Null if it never was: then nothing is known."""
        inventory_status: InventoryStatus
        """`missing`: the components of the site are not known yet. `unknown_versions`: nothing can be said
        about the components in `unknown`.
        """
        inventory_at: str | None
        feed_error: str | None
        """Why the feed could not be read last time."""
