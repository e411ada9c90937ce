# Generated from the API description by `make generate`.
"""The objects that the API returns, and its enums. Every enum may get more values."""

from __future__ import annotations

from stead_sdk._model import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    ActorKind = Literal["api_key", "member", "system"] | str
    AuditEventOutcome = Literal["denied", "success"] | str
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
    ClassBucketClass = Literal["create", "read", "write"] | str
    CommandShell = Literal["bash", "cms-cli"] | str
    CredentialKind = Literal["database", "sftp"] | str
    DeliveryStatus = Literal["delivered", "failed", "pending"] | str
    DeploymentKind = Literal["clone", "deploy", "promote", "push", "refresh", "rollback"] | str
    DeploymentStatus = Literal["deploying", "failed", "live", "pending", "superseded"] | str
    DomainStatus = Literal["failed", "pending", "verified"] | str
    EnvironmentStatus = (
        Literal["deleted", "deleting", "failed", "provisioning", "running", "suspended", "suspending"] | str
    )
    EnvironmentType = Literal["branch", "production", "staging"] | str
    JobStatus = Literal["failed", "queued", "running", "succeeded"] | str
    KeyMode = Literal["live", "test"] | str
    NewEnvironmentType = Literal["branch", "staging"] | str
    PhpSwitchVersion = Literal["8.2", "8.3", "8.4", "8.5"] | str
    PhpVersion = Literal["8.2", "8.3", "8.4", "8.5"] | str
    PinType = Literal["environment", "project", "site", "team"] | str
    Profile = Literal["git_managed", "static", "vanilla", "wasm"] | str
    PurgeType = Literal["all", "tag", "url"] | str
    PushMode = Literal["db", "files", "full"] | str
    RedirectRuleCode = Literal[301, 302, 307, 308] | int
    ReleaseStatus = Literal["deploying", "failed", "live", "pending", "superseded"] | str
    Role = Literal["admin", "billing", "observer", "owner", "site_manager"] | str
    RuntimeStatus = Literal["available", "planned"] | str
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
        ]
        | str
    )
    TlsState = Literal["expired", "not_registered", "pending", "unconfigured", "valid"] | str
    WafEngineMode = Literal["detection", "off", "on"] | str
else:
    ActorKind = str
    AuditEventOutcome = str
    BranchRuleTarget = str
    BuildStatus = str
    CapabilitiesRuntime = str
    Category = str
    ClassBucketClass = str
    CommandShell = str
    CredentialKind = str
    DeliveryStatus = str
    DeploymentKind = str
    DeploymentStatus = str
    DomainStatus = str
    EnvironmentStatus = str
    EnvironmentType = str
    JobStatus = str
    KeyMode = str
    NewEnvironmentType = str
    PhpSwitchVersion = str
    PhpVersion = str
    PinType = str
    Profile = str
    PurgeType = str
    PushMode = str
    RedirectRuleCode = int
    ReleaseStatus = str
    Role = str
    RuntimeStatus = str
    Scope = str
    ServeModel = str
    Severity = str
    SiteRuntime = str
    SiteStatus = str
    TlsErrorCode = str
    TlsState = str
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


class BranchRoutes(Model):
    _fields = {
        "rules": "*BranchRule",
        "hook_url": None,
        "hook_secret_set": None,
        "deploy_key": None,
        "last_hook_at": None,
        "last_checked_at": None,
        "last_error": None,
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


class Configuration(Model):
    _fields = {"security": "Security", "performance": "Performance", "observability": "Observability"}

    if TYPE_CHECKING:
        security: Security
        performance: Performance
        observability: Observability


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
        """A DNS record that proves the name, also before it points here. Null once the name is verified."""
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
    }

    if TYPE_CHECKING:
        security: SecurityOverride | None
        performance: PerformanceOverride | None
        observability: ObservabilityOverride | None


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
        """Email is on for categories that are not listed."""


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


class RateLimits(Model):
    _fields = {"buckets": "*ClassBucket", "team_ceiling": "Bucket"}

    if TYPE_CHECKING:
        buckets: list[ClassBucket]
        team_ceiling: Bucket


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


class Team(Model):
    _fields = {"team_id": None, "name": None, "plan": None, "created_at": None, "my_role": None}

    if TYPE_CHECKING:
        team_id: str
        name: str
        plan: str
        created_at: str
        my_role: Role
        """The role of the caller in the team."""


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


class Transferred(Model):
    _fields = {"site_id": None, "functions_transferred": None}

    if TYPE_CHECKING:
        site_id: str
        functions_transferred: int


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
