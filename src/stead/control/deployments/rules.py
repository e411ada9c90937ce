"""What a deployment is and how its status may change. No I/O."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from stead.control.http.modes import ModeBound
from stead.control.http.principal import Mode
from stead.control.http.visibility import Owned
from stead.shared.errors import Conflict, NotFound
from stead.shared.ids import AccountId, DeploymentId, EnvironmentId, SiteId, TeamId
from stead.shared.runtimes import Runtime

DeploymentStatus = Literal["pending", "deploying", "live", "failed", "superseded"]
DeploymentKind = Literal["deploy", "promote", "rollback", "clone", "refresh", "push", "restore"]

NEXT_STATUSES: dict[DeploymentStatus, frozenset[DeploymentStatus]] = {
    "pending": frozenset({"deploying", "failed"}),
    "deploying": frozenset({"live", "failed"}),
    "live": frozenset({"superseded"}),
    "failed": frozenset(),
    "superseded": frozenset(),
}
"""The allowed changes. A release that was live before becomes live again only as a new deployment."""

_LONGEST_LABEL = 63
_UNREADY_SITE_STATUSES = ("provisioning", "deleting", "deleted")


def previous_statuses(status: DeploymentStatus) -> list[DeploymentStatus]:
    """The statuses that may change to this one."""
    return [earlier for earlier, later in NEXT_STATUSES.items() if status in later]


def name_permanent_host(deployment: str, slug: str, subdomain: str) -> str:
    """The 26 characters of the id are unique; as much of the slug follows as a label has room for."""
    _, _, zone = subdomain.partition(".")
    label = f"{deployment.partition('_')[2]}--{slug}"[:_LONGEST_LABEL].rstrip("-")
    return f"{label}.{zone}"


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
class VisibleDeployment(ModeBound):
    """A deployment of an environment that the caller can see."""

    id: DeploymentId
    artifact_id: str
    deployed_at: datetime | None


@dataclass(frozen=True, slots=True)
class PermanentHost:
    """The host that always shows the release of one deployment."""

    deployment: DeploymentId
    host: str
    digest: str
    was_shown: bool
    """Visitors of the environment see the release, or have seen it."""
    has_ended: bool
    """The deployment has failed, or its node has lost the release."""


@dataclass(frozen=True, slots=True)
class PermanentHosts:
    """`served` is newest first. `ended` are no longer served, but the edges may still have them."""

    served: list[PermanentHost]
    ended: list[PermanentHost]

    @property
    def all(self) -> list[PermanentHost]:
        return [*self.served, *self.ended]


@dataclass(frozen=True, slots=True)
class DeploymentTarget(Owned):
    """The environment that is deployed to, with the columns of its site that a deployment needs."""

    env_id: EnvironmentId
    site_id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    mode: Mode
    runtime: Runtime
    domain: str
    type: str
    subdomain: str
    status: str
    site_status: str
    node_id: str | None
    release: str | None
    slug: str

    @property
    def host(self) -> str:
        return self.domain if self.type == "production" else self.subdomain

    @property
    def origin(self) -> str:
        """Where visitors reach it."""
        return f"https://{self.host}"

    @property
    def status_for_message(self) -> str:
        """The status that explains why nothing can be deployed to the environment."""
        return self.site_status if self.site_status in _UNREADY_SITE_STATUSES else self.status

    @property
    def is_ready(self) -> bool:
        """A site that has failed can be deployed to: the deployment may repair it."""
        return self.status == "running" and self.site_status not in _UNREADY_SITE_STATUSES


class DeploymentNotFound(NotFound):
    code = "deployment.not_found"
    message = "The deployment was not found in this environment."
    remedy = "List the deployments of the environment with `GET …/deployments`."


class EnvironmentNotReady(Conflict):
    code = "environment.not_ready"
    message = "The environment cannot be built for or deployed to now: it is {status}."
    remedy = "Resume a suspended environment, wait for its running job, or restart a failed site."


class NeverLive(Conflict):
    code = "deployment.never_live"
    message = "That deployment was never live, so it cannot be rolled back to."
    remedy = "Choose one from `GET …/releases`: each of these was live."


class ArtifactNotKept(Conflict):
    code = "deployment.artifact_not_kept"
    message = "The artifact of that deployment has been removed."
    remedy = "Build its commit again and deploy the new artifact."


class NothingLive(Conflict):
    code = "deployment.nothing_live"
    message = "The environment has no live deployment that could be promoted."
    remedy = "Deploy an artifact to it first."


class SourceChanged(Conflict):
    code = "deployment.source_changed"
    message = "The source environment of the promotion serves another release now."
    remedy = "Check what the source environment serves, and promote again."
