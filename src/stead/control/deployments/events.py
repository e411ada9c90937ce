"""Event types of deployments."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import ArtifactId, Commit, Domain, EventType, Payload, Reason, Ref

_DeploymentId = Annotated[str | None, Meta(examples=["dep_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_Digest = Annotated[
    str | None,
    Meta(examples=["sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"]),
]


class DeploymentPayload(Payload):
    """The first deployment of a site has no artifact."""

    domain: Domain
    deployment_id: _DeploymentId = None
    artifact_id: ArtifactId = None
    digest: _Digest = None
    ref: Ref = None
    commit: Commit = None


class DeploymentFailed(Payload):
    domain: Domain
    reason: Reason = None
    deployment_id: _DeploymentId = None
    artifact_id: ArtifactId = None
    digest: _Digest = None
    ref: Ref = None
    commit: Commit = None


DEPLOY_COMPLETED = EventType(
    "deploy.completed",
    "deploy",
    "A deployment is live",
    data=DeploymentPayload,
    in_app=True,
    text="The new deployment of {domain} is live.",
)
DEPLOY_FAILED = EventType(
    "deploy.failed",
    "deploy",
    "A deployment failed",
    "error",
    data=DeploymentFailed,
    in_app=True,
    email=True,
    text="The deployment of {domain} failed: {reason}",
)
DEPLOY_STARTED = EventType("deploy.started", "deploy", "A deployment started", data=DeploymentPayload)
DEPLOY_PROMOTED = EventType(
    "deploy.promoted",
    "deploy",
    "A deployment was promoted",
    data=DeploymentPayload,
    in_app=True,
    text="An artifact of {domain} was promoted to another environment.",
)
DEPLOY_ROLLED_BACK = EventType(
    "deploy.rolled_back",
    "deploy",
    "A deployment was rolled back",
    data=DeploymentPayload,
    in_app=True,
    text="{domain} was rolled back to an earlier deployment.",
)
