"""Every type of event there is: what it is called, how much it matters, whom it is told, what it says.

The feed, the webhooks, the notifications, the page of the documentation and the JSON Schemas all read this.
"""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

Severity = Literal["info", "warning", "error", "critical"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
Category = Literal[
    "deploy",
    "build",
    "environment",
    "site",
    "backup",
    "security",
    "function",
    "job",
    "team",
    "webhook",
    "billing",
]
PayloadType = type["Payload"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
Audience = Literal["sees_sites", "admins", "billing"]

_Domain = Annotated[str, Meta(examples=["example.com"])]
_Reason = Annotated[
    str | None, Meta(description="Why, in a sentence.", examples=["The site did not answer as it should."])
]
_TeamId = Annotated[str | None, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_AccountId = Annotated[str, Meta(examples=["client_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_Role = Annotated[str, Meta(examples=["observer"])]
_Status = Annotated[str, Meta(examples=["running"])]
_JobType = Annotated[str, Meta(description="The type of the job.", examples=["deployment.deploy"])]
_KeyId = Annotated[str, Meta(examples=["key_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_EndpointId = Annotated[str, Meta(examples=["whe_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_InviteId = Annotated[str, Meta(examples=["inv_01k9zy3v7d00r3m8w5x2t6b4qa"])]

_BuildId = Annotated[str, Meta(examples=["build_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_DeploymentId = Annotated[str | None, Meta(examples=["dep_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_ArtifactId = Annotated[str | None, Meta(examples=["art_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_Digest = Annotated[
    str | None,
    Meta(examples=["sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"]),
]
_Ref = Annotated[str | None, Meta(examples=["main"])]
_Commit = Annotated[str | None, Meta(examples=["9fceb02d0ae598e95dc970b74767f19372d61af8"])]


class Payload(Struct, forbid_unknown_fields=True):
    """`data` of an event. What is published must fit; fields may be added, never changed or removed."""


class SiteCreated(Payload):
    domain: _Domain
    profile: Annotated[str, Meta(examples=["static"])]


class SiteNamed(Payload):
    domain: _Domain


class SiteMoved(Payload):
    """`status` is what the site became, `previous` what it was."""

    domain: _Domain
    status: _Status
    previous: Annotated[str, Meta(examples=["provisioning"])]
    reason: _Reason = None


class SiteTransferred(Payload):
    from_team: _TeamId
    to_team: _TeamId


class SiteReason(Payload):
    domain: _Domain
    reason: _Reason = None


class Deployed(Payload):
    """Of an artifact; the first deployment of a site has none."""

    domain: _Domain
    deployment_id: _DeploymentId = None
    artifact_id: _ArtifactId = None
    digest: _Digest = None
    ref: _Ref = None
    commit: _Commit = None


class DeploymentFailed(Payload):
    domain: _Domain
    reason: _Reason = None
    deployment_id: _DeploymentId = None
    artifact_id: _ArtifactId = None
    digest: _Digest = None
    ref: _Ref = None
    commit: _Commit = None


class BuildAdvanced(Payload):
    domain: _Domain
    build_id: _BuildId
    ref: _Ref = None
    commit: _Commit = None


class BuildSucceeded(BuildAdvanced):
    artifact_id: _ArtifactId = None


class BuildFailed(BuildAdvanced):
    reason: _Reason = None


class RedirectsCounted(Payload):
    domain: _Domain
    rules: Annotated[int, Meta(description="How many there are now.", examples=[12])]


class EnvironmentNamed(Payload):
    """`domain` is its site's, `subdomain` its own."""

    domain: _Domain
    subdomain: Annotated[str, Meta(examples=["example-com-x7k2-feature-checkout.preview.stead.example"])]
    type: Annotated[str, Meta(examples=["branch"])]
    branch: Annotated[str | None, Meta(examples=["feature/checkout"])]


class EnvironmentMoved(EnvironmentNamed):
    """`status` is what the environment became, `previous` what it was."""

    status: _Status
    previous: Annotated[str, Meta(examples=["provisioning"])]
    reason: _Reason = None


class EnvironmentReason(EnvironmentNamed):
    reason: _Reason = None


class EnvironmentFailed(EnvironmentNamed):
    action: Annotated[str, Meta(description="What was tried.", examples=["resume"])]
    reason: _Reason = None


class EnvironmentEnding(EnvironmentNamed):
    destroy_at: Annotated[str, Meta(examples=["2027-02-13T04:18:51+00:00"])]


class EnvironmentRenewed(EnvironmentNamed):
    lease_expires_at: Annotated[str, Meta(examples=["2027-02-13T04:18:51+00:00"])]


class CertificateIssued(Payload):
    domain: _Domain
    ca: Annotated[str, Meta(description="Who issued it.", examples=["Example Trust CA"])]
    expires_at: Annotated[str, Meta(examples=["2027-02-13T04:18:51+00:00"])]


class CertificateFailed(Payload):
    domain: _Domain
    code: Annotated[str, Meta(examples=["dns"])]
    reason: _Reason = None


class JobAdvanced(Payload):
    type: _JobType


class JobEnded(Payload):
    type: _JobType
    code: Annotated[
        str | None, Meta(description="The error code of a failed job.", examples=["deploy.unhealthy"])
    ] = None


class TeamNamed(Payload):
    name: Annotated[str, Meta(examples=["Analytical Engines"])]


class MemberNamed(Payload):
    client_id: _AccountId
    role: _Role


class MemberGone(Payload):
    client_id: _AccountId


class Invitation(Payload):
    invite_id: _InviteId
    role: Annotated[str | None, Meta(examples=["observer"])] = None


class KeyNamed(Payload):
    key_id: _KeyId


class EndpointNamed(Payload):
    endpoint_id: _EndpointId


class EndpointDisabled(Payload):
    endpoint_id: _EndpointId
    reason: Annotated[str, Meta(examples=["It answered 410 Gone."])]


class RoutesCounted(Payload):
    domain: _Domain
    rules: Annotated[int, Meta(description="How many there are now.", examples=[3])]


class PushHeard(Payload):
    """`commit` is null where nobody said which: it is built wherever the branch stands."""

    domain: _Domain
    branch: Annotated[str, Meta(examples=["feature/shop"])]
    commit: Annotated[str | None, Meta(examples=["3f786850e387550fdab836ed7e6dc881de23001b"])]
    target: Annotated[str, Meta(examples=["preview"])]


class PushSkipped(PushHeard):
    reason: _Reason = None


class EventType(Struct, frozen=True):
    """`in_app` and `email` say whether people are told; `text` is what they read, filled from the data."""

    type: str
    category: Category
    title: str
    severity: Severity = "info"
    data: PayloadType | None = None
    in_app: bool = False
    email: bool = False
    text: str = ""
    audience: Audience = "sees_sites"
    """Who in a team is notified."""

    @property
    def bell(self) -> bool:
        """Whether it rings: everything from a warning on, and every deployment."""
        return self.severity != "info" or self.category == "deploy"

    @property
    def selectors(self) -> list[str]:
        """Every way in which a subscription can name it."""
        return ["*", self.type, f"category:{self.category}"]


_DEPLOYS = (
    EventType(
        "deploy.completed",
        "deploy",
        "A deployment is live",
        data=Deployed,
        in_app=True,
        text="{domain} is served by its newest deployment.",
    ),
    EventType(
        "deploy.failed",
        "deploy",
        "A deployment failed",
        "error",
        data=DeploymentFailed,
        in_app=True,
        email=True,
        text="The deployment of {domain} failed: {reason}",
    ),
    EventType("deploy.started", "deploy", "A deployment began", data=Deployed),
    EventType(
        "deploy.promoted",
        "deploy",
        "A deployment was promoted",
        data=Deployed,
        in_app=True,
        text="An environment of {domain} shows what another one showed.",
    ),
    EventType(
        "deploy.rolled_back",
        "deploy",
        "A deployment was rolled back",
        data=Deployed,
        in_app=True,
        text="{domain} shows again what it showed before.",
    ),
)
_BUILDS = (
    EventType("build.started", "build", "A build began", data=BuildAdvanced),
    EventType("build.succeeded", "build", "A build succeeded", data=BuildSucceeded),
    EventType(
        "build.failed",
        "build",
        "A build failed",
        "error",
        data=BuildFailed,
        in_app=True,
        email=True,
        text="A build of {domain} failed: {reason}",
    ),
)
_SITES = (
    EventType("site.created", "site", "A site was created", data=SiteCreated),
    EventType("site.status_changed", "site", "The status of a site changed", data=SiteMoved),
    EventType(
        "site.deleted",
        "site",
        "A site was deleted",
        "warning",
        data=SiteNamed,
        in_app=True,
        email=True,
        text="{domain} was deleted. It can be recovered for 30 days.",
    ),
    EventType(
        "site.deletion_failed",
        "site",
        "A site could not be deleted",
        "error",
        data=SiteReason,
        in_app=True,
        email=True,
        text="{domain} was not deleted and goes on as it was: {reason}",
    ),
    EventType(
        "site.recovered",
        "site",
        "A deleted site was recovered",
        data=SiteNamed,
        in_app=True,
        text="{domain} is served again.",
    ),
    EventType(
        "site.recovery_failed",
        "site",
        "A deleted site could not be recovered",
        "error",
        data=SiteReason,
        in_app=True,
        email=True,
        text="{domain} is still deleted: {reason}",
    ),
    EventType("site.restarted", "site", "A site was restarted", data=SiteNamed),
    EventType(
        "site.restart_failed",
        "site",
        "A site could not be restarted",
        "error",
        data=SiteReason,
        in_app=True,
        email=True,
        text="The restart of {domain} failed: {reason}",
    ),
    EventType(
        "site.transferred",
        "site",
        "A site was transferred",
        "warning",
        data=SiteTransferred,
        in_app=True,
        text="A site has another owner now.",
    ),
    EventType(
        "site.unreachable",
        "site",
        "A site lost its node",
        "error",
        data=SiteReason,
        in_app=True,
        email=True,
        text="{domain} cannot be reached: {reason}",
    ),
    EventType(
        "site.reachable",
        "site",
        "The node of a site is back",
        data=SiteNamed,
        in_app=True,
        email=True,
        text="{domain} can be reached again.",
    ),
)
_ENVIRONMENTS = (
    EventType("env.created", "environment", "An environment is ready", data=EnvironmentNamed),
    EventType(
        "env.status_changed", "environment", "The status of an environment changed", data=EnvironmentMoved
    ),
    EventType(
        "env.suspended",
        "environment",
        "An environment was suspended",
        data=EnvironmentReason,
        in_app=True,
        text="{subdomain} is paused until somebody resumes it.",
    ),
    EventType("env.resumed", "environment", "An environment is back in service", data=EnvironmentNamed),
    EventType(
        "env.destroyed",
        "environment",
        "An environment was destroyed",
        data=EnvironmentReason,
        in_app=True,
        text="{subdomain} is gone.",
    ),
    EventType(
        "env.destroy_scheduled",
        "environment",
        "An environment will be destroyed",
        "warning",
        data=EnvironmentEnding,
        in_app=True,
        text="The branch {branch} is gone; {subdomain} follows it on {destroy_at}.",
    ),
    EventType(
        "env.destroy_called_off",
        "environment",
        "An environment stays, for its branch is back",
        data=EnvironmentNamed,
    ),
    EventType(
        "env.refreshed", "environment", "An environment shows what production shows", data=EnvironmentNamed
    ),
    EventType("env.reset", "environment", "An environment was reset", data=EnvironmentNamed),
    EventType(
        "env.pushed",
        "environment",
        "The content of an environment became production's",
        data=EnvironmentNamed,
        in_app=True,
        text="{domain} shows what {subdomain} showed.",
    ),
    EventType(
        "env.renewed", "environment", "The lease of an environment was renewed", data=EnvironmentRenewed
    ),
    EventType(
        "env.failed",
        "environment",
        "Something could not be done with an environment",
        "error",
        data=EnvironmentFailed,
        in_app=True,
        email=True,
        text="{action} of {subdomain} failed: {reason}",
    ),
)
_EDGE = (
    EventType("site.config_changed", "site", "The configuration of a site was changed", data=SiteNamed),
    EventType(
        "site.redirects_changed", "site", "The redirects of a site were replaced", data=RedirectsCounted
    ),
    EventType("environment.config_changed", "environment", "An environment was configured", data=SiteNamed),
    EventType("environment.cache_purged", "environment", "Pages were purged from a cache", data=SiteNamed),
    EventType("certificate.issued", "security", "A certificate was issued", data=CertificateIssued),
    EventType("certificate.renewed", "security", "A certificate was renewed", data=CertificateIssued),
    EventType(
        "certificate.failed",
        "security",
        "A certificate could not be had",
        "warning",
        data=CertificateFailed,
        in_app=True,
        email=True,
        text="There is no new certificate for {domain}: {reason}",
    ),
    EventType(
        "certificate.expired",
        "security",
        "A certificate has expired",
        "critical",
        data=SiteNamed,
        in_app=True,
        email=True,
        text="The certificate of {domain} has expired; browsers turn visitors away.",
    ),
)
_GIT = (
    EventType("git.push_received", "build", "A push was heard and is built", data=PushHeard),
    EventType(
        "git.push_skipped",
        "build",
        "Nothing could be built of a push",
        "warning",
        data=PushSkipped,
        in_app=True,
        text="A push to {branch} of {domain} was not built: {reason}",
    ),
    EventType(
        "git.unreachable",
        "build",
        "A repository cannot be asked for its branches",
        "warning",
        data=SiteReason,
        in_app=True,
        email=True,
        text="Pushes to {domain} are not noticed: {reason}",
    ),
    EventType(
        "site.branch_routes_changed", "site", "The branch routes of a site were replaced", data=RoutesCounted
    ),
    EventType("site.hook_secret_rolled", "security", "The hook of a site got a new secret", data=SiteNamed),
)
_JOBS = (
    EventType("job.queued", "job", "A job was queued", data=JobAdvanced),
    EventType("job.started", "job", "A job began", data=JobAdvanced),
    EventType("job.succeeded", "job", "A job succeeded", data=JobEnded),
    EventType("job.failed", "job", "A job failed", "error", data=JobEnded),
)
_TEAMS = (
    EventType("team.created", "team", "A team was founded", data=TeamNamed),
    EventType("team.renamed", "team", "A team was renamed", data=TeamNamed),
    EventType("team.deleted", "team", "A team was deleted", "warning", data=TeamNamed),
    EventType(
        "team.member_added",
        "team",
        "A member joined a team",
        data=MemberNamed,
        in_app=True,
        audience="admins",
        text="Somebody joined as {role}.",
    ),
    EventType("team.member_changed", "team", "The role of a member changed", data=MemberNamed),
    EventType(
        "team.member_removed",
        "team",
        "A member left a team",
        data=MemberGone,
        in_app=True,
        audience="admins",
        text="Somebody left, or was removed.",
    ),
    EventType("team.invite_created", "team", "Somebody was invited into a team", data=Invitation),
    EventType("team.invite_revoked", "team", "An invite was revoked", data=Invitation),
)
_KEYS = (
    EventType(
        "key.created",
        "security",
        "An API key was minted",
        data=KeyNamed,
        in_app=True,
        text="The key {key_id} was minted. If that was not you, revoke it and change your password.",
    ),
    EventType("key.changed", "security", "An API key was renamed or narrowed", data=KeyNamed),
    EventType(
        "key.rolled",
        "security",
        "An API key got a new secret",
        data=KeyNamed,
        in_app=True,
        text="The key {key_id} has a new secret; the old one works for 24 hours.",
    ),
    EventType("key.revoked", "security", "An API key was revoked", data=KeyNamed),
)
_WEBHOOKS = (
    EventType("webhook.endpoint_created", "webhook", "A webhook endpoint was made", data=EndpointNamed),
    EventType("webhook.endpoint_changed", "webhook", "A webhook endpoint was changed", data=EndpointNamed),
    EventType(
        "webhook.endpoint_rolled", "webhook", "A webhook endpoint got a new secret", data=EndpointNamed
    ),
    EventType("webhook.endpoint_deleted", "webhook", "A webhook endpoint was deleted", data=EndpointNamed),
    EventType(
        "webhook.endpoint_disabled",
        "webhook",
        "A webhook endpoint was disabled",
        "error",
        data=EndpointDisabled,
        in_app=True,
        email=True,
        text="Nothing is sent to the endpoint {endpoint_id} any more. {reason}",
    ),
)

CATALOG: dict[str, EventType] = {
    event.type: event
    for event in (
        *(*_DEPLOYS, *_BUILDS, *_SITES, *_ENVIRONMENTS, *_EDGE, *_GIT),
        *(*_JOBS, *_TEAMS, *_KEYS, *_WEBHOOKS),
    )
}
