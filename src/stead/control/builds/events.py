"""Event types of builds."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import ArtifactId, Commit, Domain, EventType, Payload, Reason, Ref

_BuildId = Annotated[str, Meta(examples=["build_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class BuildPayload(Payload):
    domain: Domain
    build_id: _BuildId
    ref: Ref = None
    commit: Commit = None


class BuildSucceeded(BuildPayload):
    artifact_id: ArtifactId = None


class BuildFailed(BuildPayload):
    reason: Reason = None


BUILD_STARTED = EventType("build.started", "build", "A build started", data=BuildPayload)
BUILD_SUCCEEDED = EventType("build.succeeded", "build", "A build succeeded", data=BuildSucceeded)
BUILD_FAILED = EventType(
    "build.failed",
    "build",
    "A build failed",
    "error",
    data=BuildFailed,
    in_app=True,
    email=True,
    text="A build of {domain} failed: {reason}",
)
