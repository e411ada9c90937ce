"""A worker with a short time limit for every kind of job, and a kind of job of a newer version."""

import os
from copy import copy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import uvloop

from stead.control import worker
from stead.control.feature import Feature
from stead.control.features import FEATURES
from stead.control.jobs.definition import Workflow
from stead.control.jobs.kinds import JobKind
from stead.control.settings import from_environment
from stead.control.sites import workflows
from stead.control.sites.jobs import SiteWork

LIMIT_VARIABLE = "FAULTS_LIMIT_SECONDS"


def limited(workflow: Workflow[Any], limit: timedelta) -> Workflow[Any]:
    kind = copy(workflow.kind)
    kind.limit = limit
    return Workflow(kind, steps=list(workflow.steps.values()), failed=workflow.failed)


def newer_deployment() -> Workflow[SiteWork]:
    kind = JobKind(
        "deployment.deploy",
        variant="newer",
        params=SiteWork,
        resource="deployment",
        lock="environment",
        limit=timedelta(minutes=10),
        results={"url", "env_id"},
    )
    return Workflow(kind, steps=list(workflows.DEPLOY.steps.values()), failed=workflows.DEPLOY.failed)


def main() -> None:
    limit = timedelta(seconds=int(os.environ[LIMIT_VARIABLE]))
    features = [
        replace(feature, workflows=[limited(workflow, limit) for workflow in feature.workflows])
        for feature in FEATURES
    ]
    newer = Feature(name="newer", workflows=[newer_deployment()])
    uvloop.run(worker.run(from_environment(), (*features, newer)))


if __name__ == "__main__":
    main()
