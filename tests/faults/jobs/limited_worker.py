"""A worker that knows one more kind of job: a deployment whose time is up before the node can be done."""

from datetime import timedelta

import uvloop

from stead.control import worker
from stead.control.platform.jobs import JobKind
from stead.control.settings import from_environment
from stead.control.sites import workflows
from stead.control.sites.work import SiteWork

LIMIT = timedelta(seconds=3)
NAME = "deployment.deploy/limited"

LIMITED = JobKind(
    "deployment.deploy",
    variant="limited",
    params=SiteWork,
    resource="deployment",
    lock="environment",
    limit=LIMIT,
    results={"url", "env_id"},
    steps=list(workflows.DEPLOY.steps.values()),
    failed=workflows.DEPLOY.failed,
)

if __name__ == "__main__":
    uvloop.run(worker.run(from_environment()))
