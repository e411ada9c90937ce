"""The kinds of job of sites."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from stead.control.http.principal import Mode
from stead.control.jobs.kinds import Job, JobKind
from stead.control.outbox.events import About
from stead.control.plans.rules import Owner
from stead.control.sites.rules import SiteStatus
from stead.shared.ids import AccountId, TeamId
from stead.shared.runtimes import Runtime


class SiteWork(Struct, frozen=True):
    """What a failed deletion or recovery returns to. A site whose node is unreachable keeps its reason."""

    status_before: SiteStatus = "running"
    reason_before: str | None = None
    recoverable_until: datetime | None = None
    node: str | None = None
    """The node of production when the deletion was requested."""


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """The columns of a site that jobs need."""

    domain: str
    region: str
    runtime: Runtime
    mode: Mode
    account_id: AccountId | None
    team_id: TeamId | None

    @property
    def owner(self) -> Owner:
        return Owner(self.account_id, self.team_id)

    @property
    def is_test(self) -> bool:
        """A test site is simulated, and never announced to the edges."""
        return self.mode == "test"

    @property
    def needed_runtime(self) -> Runtime | None:
        """What its node must run. None is any runtime: every node simulates all of them."""
        return None if self.is_test else self.runtime

    def about(self, job: Job[Any]) -> About:
        return About(
            account_id=self.account_id,
            team_id=self.team_id,
            site_id=job.site_id,
            env_id=job.env_id,
            job_id=job.id,
        )


DEPLOY = JobKind(
    "deployment.deploy",
    params=SiteWork,
    resource="deployment",
    lock="environment",
    limit=timedelta(minutes=10),
    results={"url", "env_id"},
)

RESTART = JobKind(
    "site.restart",
    params=SiteWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=5),
    results={"url", "env_id"},
)

RECOVER = JobKind(
    "site.restart",
    variant="recover",
    params=SiteWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=5),
    results={"url", "env_id"},
)

DELETE = JobKind(
    "site.delete",
    params=SiteWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=60),
)

PURGE = JobKind(
    "site.delete",
    variant="purge",
    params=SiteWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=5),
)
