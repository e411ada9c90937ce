"""A worker that knows two more kinds of job: deployments with a short time limit, and of a newer version."""

import os
from datetime import timedelta

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


def deployment(variant: str, limit: timedelta) -> Workflow[SiteWork]:
    kind = JobKind(
        "deployment.deploy",
        variant=variant,
        params=SiteWork,
        resource="deployment",
        lock="environment",
        limit=limit,
        results={"url", "env_id"},
    )
    return Workflow(kind, steps=list(workflows.DEPLOY.steps.values()), failed=workflows.DEPLOY.failed)


def main() -> None:
    limit = timedelta(seconds=int(os.environ[LIMIT_VARIABLE]))
    more = [deployment("limited", limit), deployment("newer", timedelta(minutes=10))]
    uvloop.run(worker.run(from_environment(), (*FEATURES, Feature(name="limited", workflows=more))))


if __name__ == "__main__":
    main()
