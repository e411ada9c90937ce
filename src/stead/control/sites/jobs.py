"""What the jobs of a site carry with them, and what they know of the site."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import Struct

from stead.control.http.principal import Mode
from stead.control.jobs.declaration import Job
from stead.control.outbox.events import About
from stead.control.sites.rules import SiteStatus
from stead.shared.runtimes import Runtime


class SiteWork(Struct, frozen=True):
    """What a deletion or recovery goes back to if it fails: a site that had lost its node still says so."""

    status_before: SiteStatus = "running"
    reason_before: str | None = None
    recoverable_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SiteFacts:
    domain: str
    region: str
    runtime: Runtime
    mode: Mode
    account_id: str | None
    team_id: str | None

    @property
    def is_test(self) -> bool:
        """Simulated, unknown to the edge."""
        return self.mode == "test"

    def about(self, job: Job[Any]) -> About:
        return About(
            account_id=self.account_id,
            team_id=self.team_id,
            site_id=job.site_id,
            env_id=job.env_id,
            job_id=job.id,
        )
