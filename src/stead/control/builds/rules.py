"""What a build is and how its status may change. No I/O."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from stead.control.plans.rules import Owner
from stead.shared.errors import Conflict, NotFound, ServerFault
from stead.shared.ids import AccountId, BuildId, EnvironmentId, SiteId, TeamId
from stead.shared.runtimes import Runtime

BuildStatus = Literal["queued", "running", "succeeded", "failed"]

NEXT_STATUSES: dict[BuildStatus, frozenset[BuildStatus]] = {
    "queued": frozenset({"running", "failed"}),
    "running": frozenset({"succeeded", "failed"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
}

BUILDERS: dict[Runtime, str] = {"static": "static"}
"""Which builder makes what a runtime serves; a runtime that is not here has none yet."""
GIT = "git"
"""The source of a build from the site's own repository."""


def before(status: BuildStatus) -> list[BuildStatus]:
    """What a build may be until it becomes this."""
    return [each for each, following in NEXT_STATUSES.items() if status in following]


@dataclass(frozen=True, slots=True)
class VisibleBuild:
    """A build for an environment that the caller can see."""

    id: BuildId


@dataclass(frozen=True, slots=True)
class Build:
    id: BuildId
    site_id: SiteId
    env_id: EnvironmentId
    job_id: str | None
    builder: Literal["static"]
    status: BuildStatus
    source: str
    """`git`, the id of an upload, or the address of an archive."""
    ref: str | None
    commit: str | None
    auto_deploy: bool
    node_id: str | None
    facts: dict[str, str | int] | None
    """What the node says of it; `BuildResult`."""
    manifest: bytes | None
    config: bytes | None
    envelope: bytes | None
    key_id: str | None
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class Origin:
    """What a site's builds are made from unless something else is said."""

    site_id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    mode: str
    runtime: Runtime
    domain: str
    region: str
    git_repo: str | None
    git_branch: str | None
    branch: str | None
    """Of the environment."""
    node_id: str | None

    @property
    def owner(self) -> Owner:
        return Owner(self.account_id, self.team_id)

    @property
    def mapped_branch(self) -> str | None:
        return self.branch or self.git_branch


def staged_name(build: str) -> str:
    """Where a builder puts its layer, before anybody believes it."""
    return f"staged/{build}"


def without_secrets(url: str) -> str:
    """An address as it can be told: who logs in there, and how, is nobody's business."""
    if "://" not in url:
        return url.rpartition("@")[2] if "@" in url else url
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class BuildNotFound(NotFound):
    code = "build.not_found"
    message = "There is no such build of this environment."
    remedy = "List the builds of the environment with `GET …/builds`."


class BuildUnavailable(ServerFault):
    status = 503
    code = "build.unavailable"
    message = "No node of the region {region} that is up builds {builder} sites."
    remedy = "Try again later; if it goes on, the operator has to set up a builder in that region."


class BuildFailed(Conflict):
    code = "build.failed"
    message = "The build failed: {reason}"
    remedy = "The job's output has every line of it. Mend what it names, and build again."


class RefMissing(Conflict):
    code = "build.ref_missing"
    message = "The repository has no {ref}."
    remedy = "Push the branch, and it is built by itself; or build another one."


class UploadUnusable(Conflict):
    code = "upload.unusable"
    message = "The upload cannot be built: {reason}"
    remedy = "Get a new address with `POST …/uploads`, send an archive within `max_bytes`, and build again."
