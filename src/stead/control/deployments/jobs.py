"""The kinds of job that deploy an artifact. They differ in how it was chosen; their steps are the same."""

from datetime import timedelta

from msgspec import Struct

from stead.control.jobs.kinds import JobKind


class DeploymentWork(Struct, frozen=True):
    deployment: str


def _deployment_kind(type_: str) -> JobKind[DeploymentWork]:
    return JobKind(
        type_,
        params=DeploymentWork,
        resource="deployment",
        lock="environment",
        limit=timedelta(minutes=10),
        results={"deployment_id", "release_id", "artifact_id", "digest", "env_id", "url"},
    )


DEPLOY = _deployment_kind("deployment.deploy_artifact")
PROMOTE = _deployment_kind("deployment.promote")
ROLLBACK = _deployment_kind("deployment.rollback")
