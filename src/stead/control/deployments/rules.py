"""What a deployment is and how its status may change. No I/O."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from stead.control.http.visibility import Owned
from stead.shared.errors import Conflict, NotFound
from stead.shared.ids import AccountId, DeploymentId, EnvironmentId, SiteId, TeamId
from stead.shared.runtimes import Runtime

DeploymentStatus = Literal["pending", "deploying", "live", "failed", "superseded"]
DeploymentKind = Literal["deploy", "promote", "rollback", "clone", "refresh", "push"]

NEXT_STATUSES: dict[DeploymentStatus, frozenset[DeploymentStatus]] = {
    "pending": frozenset({"deploying", "failed"}),
    "deploying": frozenset({"live", "failed"}),
    "live": frozenset({"superseded"}),
    "failed": frozenset(),
    "superseded": frozenset(),
}
"""What may follow. What was live once is live again only as a new deployment."""


UNREADY_SITES = ("provisioning", "deleting", "deleted")


def before(status: DeploymentStatus) -> list[DeploymentStatus]:
    """What a deployment may be until it becomes this."""
    return [each for each, following in NEXT_STATUSES.items() if status in following]


@dataclass(frozen=True, slots=True)
class Deployment:
    id: DeploymentId
    site_id: SiteId
    env_id: EnvironmentId
    artifact_id: str
    digest: str
    ref: str | None
    commit: str | None
    kind: DeploymentKind
    from_id: str | None
    status: DeploymentStatus
    switched: bool
    release_before: str | None
    deployed_at: datetime | None


@dataclass(frozen=True, slots=True)
class VisibleDeployment:
    """A deployment of an environment that the caller can see."""

    id: DeploymentId
    artifact_id: str
    deployed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Place(Owned):
    """Where something is deployed: an environment, and what must be known of its site."""

    env_id: EnvironmentId
    site_id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    mode: str
    runtime: Runtime
    domain: str
    type: str
    subdomain: str
    status: str
    site_status: str
    node_id: str | None
    release: str | None

    @property
    def host(self) -> str:
        return self.domain if self.type == "production" else self.subdomain

    @property
    def state(self) -> str:
        """What to say of one that cannot be deployed to."""
        return self.site_status if self.site_status in UNREADY_SITES else self.status

    @property
    def is_ready(self) -> bool:
        """Also while the site has failed: a deployment may be what mends it."""
        return self.status == "running" and self.site_status not in UNREADY_SITES


class DeploymentNotFound(NotFound):
    code = "deployment.not_found"
    message = "There is no such deployment of this environment."
    remedy = "List the deployments of the environment with `GET …/deployments`."


class EnvironmentNotReady(Conflict):
    code = "environment.not_ready"
    message = "Nothing can be built for or deployed to the environment now: it is {status}."
    remedy = "Resume it if it is suspended; wait for its job if one is under way; restart a site that failed."


class NeverLive(Conflict):
    code = "deployment.never_live"
    message = "That deployment was never live, so there is nothing to go back to."
    remedy = "Choose one of `GET …/releases`: each of those was live once."


class ArtifactNotKept(Conflict):
    code = "deployment.artifact_not_kept"
    message = "The artifact of that deployment is not kept any more."
    remedy = "Build its commit again and deploy what comes out."


class NothingLive(Conflict):
    code = "deployment.nothing_live"
    message = "The environment shows no deployment that could be promoted."
    remedy = "Deploy an artifact to it first."


class SourceChanged(Conflict):
    code = "deployment.source_changed"
    message = "The environment it was promoted from shows something else by now."
    remedy = "Look at what it shows, and promote again."
