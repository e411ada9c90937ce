"""What a forge is told about a build. No I/O."""

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.environments.rules import EnvironmentType
from stead.control.git.rules import is_commit
from stead.shared.sensitive import SENSITIVE

ForgeKind = Literal["github", "gitlab", "gitea"]
ReportState = Literal["pending", "success", "failure"]

WORTH_REPEATING = (408, 409, 425, 429)
"""Refusals of a client that another attempt may not get."""


class NewForge(Struct, forbid_unknown_fields=True):
    kind: Annotated[ForgeKind, Meta(description="The kind of forge.", examples=["github"])]
    token: Annotated[
        str,
        Meta(
            min_length=8,
            max_length=300,
            pattern=r"^[!-~]+$(?!\n)",
            description="A token that may write commit statuses and comments. Can be written, but is never"
            " returned. It is sent only to the host of the repository.",
            examples=["github_pat_example0123456789"],
            extra={"expected": "It has ASCII characters and no spaces."},
            extra_json_schema=SENSITIVE,
        ),
    ]


@dataclass(frozen=True, slots=True)
class CommitReport:
    commit: str
    state: ReportState
    description: str
    url: str
    """Where to see the result; empty if there is nothing to see."""
    name: str
    """Of the environment, beside others of the repository: several sites may be built from it, and a status
    replaces the one of the same name."""


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build and its deployment are, and what the forge knows about it."""

    build_id: str
    site_id: str
    env_id: str
    commit: str | None
    build_status: str
    auto_deploy: bool
    deployment_status: str | None
    """Of the newest deployment of the artifact; None if there is none."""
    environment_type: EnvironmentType
    branch: str | None
    slug: str
    """Of the site."""
    git_repo: str | None
    forge: ForgeKind | None
    token: bytes | None
    """Sealed."""
    token_repository: str | None
    """The repository that the token was given for."""
    sent: str | None
    """The state that the forge was told last."""
    attempts: int

    @property
    def can_be_sent(self) -> bool:
        """Whether there still is a token for this repository."""
        return self.token is not None and self.git_repo is not None and self.git_repo == self.token_repository

    @property
    def state(self) -> ReportState:
        if self.build_status == "failed" or self.deployment_status == "failed":
            return "failure"
        is_waiting = self.build_status != "succeeded" or self.deployment_status in ("pending", "deploying")
        return "pending" if is_waiting else "success"

    @property
    def is_deployed(self) -> bool:
        return self.state == "success" and self.deployment_status is not None

    def report(self, origin: str) -> CommitReport | None:
        """None as long as the commit is not known: it may be the head of a branch, or shortened."""
        if self.commit is None or not is_commit(self.commit):
            return None
        environment = self.branch if self.environment_type == "branch" else None
        url = f"{origin}/" if self.is_deployed else ""
        name = f"{self.slug}/{environment or self.environment_type}"
        return CommitReport(self.commit, self.state, self._describe(), url, name)

    def _describe(self) -> str:
        if self.state == "failure":
            return f"The {'build' if self.build_status == 'failed' else 'deployment'} failed."
        if self.state == "pending":
            return "Deploying." if self.build_status == "succeeded" else "Building."
        if self.is_deployed:
            return "Deployed."
        return "Built, but not deployed." if self.auto_deploy else "Built."


class ForgeRefused(Exception):
    """The forge did not accept a request. `status` is 0 if it did not answer. The message may be shown."""

    def __init__(self, status: int, reason: str = "") -> None:
        self.status = status
        texts = {
            401: "The forge refuses the token.",
            403: "The token may not write commit statuses or comments.",
            404: "The forge does not know the repository or the commit, or the token may not see them.",
        }
        super().__init__(reason or texts.get(status, f"The forge answered with status {status}."))

    @property
    def is_final(self) -> bool:
        """Whether another attempt would not help."""
        return 400 <= self.status < 500 and self.status not in WORTH_REPEATING
