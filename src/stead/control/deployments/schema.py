"""The JSON shapes of deployments and releases."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.control.artifacts.schema import ArtifactIdText, Commit, Digest, Ref
from stead.control.deployments.rules import DeploymentKind, DeploymentStatus

_ID = "dep_01k9zy3v7d00r3m8w5x2t6b4qa"
DeploymentIdText = Annotated[str, Meta(examples=[_ID])]


class NewDeployment(Struct, forbid_unknown_fields=True):
    artifact_id: Annotated[
        ArtifactIdText, Meta(description="An artifact of this site, built for any of its environments.")
    ]


class Promotion(Struct, forbid_unknown_fields=True):
    to_env: Annotated[
        str,
        Meta(
            description="The environment to deploy to: its id, or `production`.",
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
    kind: Annotated[DeploymentKind, Meta(description="What created the deployment.")]
    from_deployment_id: Annotated[
        str | None, Meta(description="The deployment whose release it repeats.", examples=[None])
    ]
    status: DeploymentStatus
    reason: Annotated[str | None, Meta(description="Why the deployment failed.", examples=[None])]
    job_id: Annotated[str | None, Meta(examples=["job_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    created_at: datetime
    deployed_at: Annotated[datetime | None, Meta(description="When the deployment became live.")]
    current_since: Annotated[
        datetime | None, Meta(description="Since when it is live; null for all other deployments.")
    ]
    url: Annotated[
        str | None,
        Meta(
            description="Always shows this deployment, whatever the environment serves now. The latest ten"
            " deployments of an environment of a static site have one.",
            examples=["https://01k9zy3v7d00r3m8w5x2t6b4qa--example-com-k3f9.preview.stead.example/"],
        ),
    ]


class ReleaseView(Struct):
    id: Annotated[str, Meta(description="The id of the deployment.", examples=[_ID])]
    artifact_id: ArtifactIdText
    digest: Digest
    ref: Ref
    status: DeploymentStatus
    current: Annotated[bool, Meta(description="Whether visitors see this release now.", examples=[True])]
    deployed_at: datetime
    created_at: datetime
