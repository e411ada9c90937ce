"""The JSON shapes of deployments and releases."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.control.artifacts.schema import ArtifactIdText, Commit, Digest, Ref
from stead.control.deployments.rules import DeploymentKind, DeploymentStatus

_ID = "dep_01k9zy3v7d00r3m8w5x2t6b4qa"
DeploymentIdText = Annotated[str, Meta(examples=[_ID])]


class NewDeployment(Struct, forbid_unknown_fields=True):
    artifact_id: Annotated[ArtifactIdText, Meta(description="Of this site; from any environment of it.")]


class Promotion(Struct, forbid_unknown_fields=True):
    to_env: Annotated[
        str,
        Meta(
            description="The environment that shall show the same: its id, or `production`.",
            min_length=1,
            max_length=64,
            examples=["production"],
        ),
    ]


class DeploymentView(Struct):
    id: DeploymentIdText
    env_id: Annotated[str, Meta(examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    artifact_id: ArtifactIdText
    digest: Digest
    ref: Ref
    commit: Commit
    kind: Annotated[DeploymentKind, Meta(description="What brought it about.")]
    from_deployment_id: Annotated[
        str | None, Meta(description="The deployment that it repeats, elsewhere or again.", examples=[None])
    ]
    status: DeploymentStatus
    reason: Annotated[str | None, Meta(description="Why it failed.", examples=[None])]
    job_id: Annotated[str | None, Meta(examples=["job_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    created_at: datetime
    deployed_at: Annotated[datetime | None, Meta(description="When it went live.")]
    current_since: Annotated[datetime | None, Meta(description="While it is live.")]


class ReleaseView(Struct):
    id: Annotated[str, Meta(description="The id of the deployment.", examples=[_ID])]
    artifact_id: ArtifactIdText
    digest: Digest
    ref: Ref
    status: DeploymentStatus
    current: Annotated[bool, Meta(description="Whether visitors see it now.", examples=[True])]
    deployed_at: datetime
    created_at: datetime
