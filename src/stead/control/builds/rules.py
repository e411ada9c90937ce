"""What a build is and how its status may change. No I/O."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from stead.control.artifacts.rules import ServeModel
from stead.control.http.modes import ModeBound
from stead.control.http.principal import Mode
from stead.control.plans.rules import Owner
from stead.control.sites.rules import Profile
from stead.protocol.work.builds import Builder, FunctionLanguage
from stead.shared.errors import Conflict, NotFound, ServerFault
from stead.shared.ids import AccountId, BuildId, EnvironmentId, SiteId, TeamId

BuildStatus = Literal["queued", "running", "succeeded", "failed"]

NEXT_STATUSES: dict[BuildStatus, frozenset[BuildStatus]] = {
    "queued": frozenset({"running", "failed"}),
    "running": frozenset({"succeeded", "failed"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
}

BUILDERS: dict[Profile, Builder] = {"git_managed": "cms", "static": "static"}
"""The builder of each profile. The sites of other profiles are not built."""
SERVE_MODELS: dict[Builder, ServeModel] = {"cms": "container", "static": "static", "wasm": "wasm"}
INLINE = "inline"
"""The `source` of a build from a single file."""
GIT = "git"
"""The `source` of a build from the repository of the site."""


def previous_statuses(status: BuildStatus) -> list[BuildStatus]:
    """The statuses that may change to this one."""
    return [earlier for earlier, later in NEXT_STATUSES.items() if status in later]


class FunctionSource(Struct, frozen=True):
    """The source of a function: a single file, or a folder that was uploaded."""

    filename: str | None
    """Of the file, or of one in the folder; if there is none, the builder looks for it."""
    content: str | None
    """Of the file; None for a folder."""
    language: FunctionLanguage
    compatibility_date: str


@dataclass(frozen=True, slots=True)
class VisibleBuild(ModeBound):
    """A build for an environment that the caller can see."""

    id: BuildId


@dataclass(frozen=True, slots=True)
class Build:
    id: BuildId
    site_id: SiteId
    env_id: EnvironmentId
    job_id: str | None
    builder: Builder
    status: BuildStatus
    source: str
    """`git`, the id of an upload, or the URL of an archive."""
    ref: str | None
    commit: str | None
    auto_deploy: bool
    node_id: str | None
    result: dict[str, str | int] | None
    """The `BuildResult` that the node reported, not verified yet."""
    manifest: bytes | None
    config: bytes | None
    envelope: bytes | None
    key_id: str | None
    started_at: datetime | None
    pushed: bool
    """Whether a push started it. Such a build is skipped if nothing has changed since the live release."""
    inputs: str | None
    """Names the secrets and variables that the environment had when the build began."""
    reuses: str | None
    """The artifact of the live release, if the build can be skipped."""
    function_id: str | None = None
    """The function that is built, and not the site."""
    inline: dict[str, str | None] | None = None
    """The `FunctionSource` of a build of a function."""


@dataclass(frozen=True, slots=True)
class ReusableBuild:
    """The build of the live release of an environment."""

    artifact_id: str
    digest: str
    source_digest: str


@dataclass(frozen=True, slots=True)
class BuildContext:
    """The columns of the site and the environment that a build needs."""

    site_id: SiteId
    account_id: AccountId | None
    team_id: TeamId | None
    mode: Mode
    profile: Profile
    domain: str
    region: str
    git_repo: str | None
    git_branch: str | None
    branch: str | None
    """The branch of the environment."""
    node_id: str | None
    is_suspended: bool
    """The account that owns the site."""

    @property
    def owner(self) -> Owner:
        return Owner(self.account_id, self.team_id)

    @property
    def mapped_branch(self) -> str | None:
        return self.branch or self.git_branch


def staged_object_name(build: str) -> str:
    """Where a builder stores its layer in the object store, before the layer is verified."""
    return f"staged/{build}"


def strip_credentials(url: str) -> str:
    """A URL without user name, password and query, fit to be shown."""
    if "://" not in url:
        return url.rpartition("@")[2] if "@" in url else url
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class BuildNotFound(NotFound):
    code = "build.not_found"
    message = "The build was not found in this environment."
    remedy = "List the builds of the environment with `GET …/builds`."


class BuildUnavailable(ServerFault):
    status = 503
    code = "build.unavailable"
    message = "No reachable node of the region {region} can build {builder} sites."
    remedy = "Try again later. If the error persists, the operator must set up a builder in that region."


class BuildFailed(Conflict):
    code = "build.failed"
    message = "The build failed: {reason}"
    remedy = "Read the output of the job, fix the problem that it reports, and build again."


class RefMissing(Conflict):
    code = "build.ref_missing"
    message = "The repository has no {ref}."
    remedy = "Push the branch, which starts a build automatically, or build another branch."


class UploadUnusable(Conflict):
    code = "upload.unusable"
    message = "The upload cannot be built: {reason}"
    remedy = (
        "Get a new upload URL with `POST …/uploads`, send an archive within `max_bytes`, and build again."
    )
