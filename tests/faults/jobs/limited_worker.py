"""A worker that knows two more kinds: a deployment whose time is soon up, and one of a later version."""

from datetime import timedelta

import uvloop

from stead.control import worker
from stead.control.jobs.declaration import JobKind
from stead.control.settings import from_environment
from stead.control.sites import workflows
from stead.control.sites.jobs import SiteWork

LIMIT = timedelta(seconds=5)


def deployment(variant: str, limit: timedelta) -> JobKind[SiteWork]:
    return JobKind(
        "deployment.deploy",
        variant=variant,
        params=SiteWork,
        resource="deployment",
        lock="environment",
        limit=limit,
        results={"url", "env_id"},
        steps=list(workflows.DEPLOY.steps.values()),
        failed=workflows.DEPLOY.failed,
    )


if __name__ == "__main__":
    deployment("limited", LIMIT)
    deployment("newer", timedelta(minutes=10))
    uvloop.run(worker.run(from_environment()))
