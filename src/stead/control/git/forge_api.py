"""The APIs of GitHub, GitLab and Gitea: commit statuses, and comments on pull requests.

Requests go to the host of the repository, at an address that was checked. Redirects are not followed, so a
token never reaches another host.
"""

from dataclasses import dataclass
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from stead.control.git.forge_rules import CommitReport, ForgeKind, ForgeRefused
from stead.control.sites.repositories import Repository
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.connection import RequestFailed, Response
from stead.control.webhooks.urls import Target

T = TypeVar("T")

MAX_RESPONSE_BYTES = 1 << 20
PAGE_LENGTH = 50
"""How many open pull requests are looked at."""
GITHUB, GITHUB_API = "github.com", "api.github.com"
_PREFIXES: dict[ForgeKind, str] = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}
_CREDENTIALS: dict[ForgeKind, str] = {
    "github": "Authorization: Bearer ",
    "gitlab": "PRIVATE-TOKEN: ",
    "gitea": "Authorization: token ",
}
_GITLAB_STATES = {"pending": "running", "success": "success", "failure": "failed"}
_CONTEXT = "stead/{name}"
MAX_CONTEXT = 255
"""Forges refuse longer names of statuses; branches may have them."""


_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""The servers are those of customers. A number that the database cannot hold would be asked for again and
again."""


class _Repository(msgspec.Struct):
    id: _Number


class _Branch(msgspec.Struct):
    ref: str = ""
    repo: _Repository | None = None
    """None if it was deleted."""


class _PullRequest(msgspec.Struct):
    """`number` of GitHub and Gitea, `iid` of GitLab. Anybody can open one from a copy of the repository, with
    a branch of the same name."""

    number: _Number = 0
    iid: _Number = 0
    head: _Branch = msgspec.field(default_factory=_Branch)
    base: _Branch = msgspec.field(default_factory=_Branch)
    source_branch: str = ""
    source_project_id: _Number | None = None
    target_project_id: _Number | None = None

    def is_from(self, branch: str) -> bool:
        """Whether it is from this branch of the repository itself."""
        if self.source_project_id is not None:
            return self.source_branch == branch and self.source_project_id == self.target_project_id
        return self.head.ref == branch and self.head.repo is not None and self.head.repo == self.base.repo


class _Created(msgspec.Struct):
    id: _Number


@dataclass(frozen=True)
class ForgeApi:
    client: HttpsClient
    kind: ForgeKind
    repository: Repository
    token: str

    async def set_status(self, report: CommitReport) -> None:
        context = _CONTEXT.format(name=report.name)[:MAX_CONTEXT]
        shared = {"description": report.description, "target_url": report.url}
        if self.kind == "gitlab":
            body = {"state": _GITLAB_STATES[report.state], "name": context, **shared}
        else:
            body = {"state": report.state, "context": context, **shared}
        given = {name: value for name, value in body.items() if value}
        await self._send("POST", f"{self._project}/statuses/{report.commit}", given)

    async def find_pull_request(self, branch: str) -> int | None:
        """The number of the first open one from this branch of the same repository."""
        length = str(PAGE_LENGTH)
        if self.kind == "gitlab":
            query = {"state": "opened", "source_branch": branch, "per_page": length}
            found = await self._list(f"{self._project}/merge_requests", query)
            return next((each.iid for each in found if each.is_from(branch)), None)
        query = {"state": "open"}
        if self.kind == "github":
            owner = self._path.partition("/")[0]
            query |= {"head": f"{owner}:{branch}", "per_page": length}
        else:
            query |= {"limit": length}
        found = await self._list(f"{self._project}/pulls", query)
        return next((each.number for each in found if each.is_from(branch)), None)

    async def comment(self, number: int, text: str, *, earlier: int | None) -> int:
        """Replace the earlier comment, or write a new one if there is none any more. Returns its id."""
        if earlier is not None:
            try:
                await self._send(
                    "PUT" if self.kind == "gitlab" else "PATCH",
                    self._comment(number, earlier),
                    {"body": text},
                )
            except ForgeRefused as refused:
                if refused.status != 404:
                    raise
            else:
                return earlier
        created = await self._send("POST", self._comments(number), {"body": text})
        return _decode(created.body, _Created).id

    @property
    def _path(self) -> str:
        return self.repository.path.removesuffix(".git")

    @property
    def _project(self) -> str:
        if self.kind == "gitlab":
            return f"/projects/{quote(self._path, safe='')}"
        return f"/repos/{quote(self._path)}"

    def _comments(self, number: int) -> str:
        if self.kind == "gitlab":
            return f"{self._project}/merge_requests/{number}/notes"
        return f"{self._project}/issues/{number}/comments"

    def _comment(self, number: int, comment: int) -> str:
        if self.kind == "gitlab":
            return f"{self._comments(number)}/{comment}"
        return f"{self._project}/issues/comments/{comment}"

    async def _list(self, path: str, query: dict[str, str]) -> list[_PullRequest]:
        answer = await self._send("GET", f"{path}?{urlencode(query)}")
        return _decode(answer.body, list[_PullRequest])

    async def _send(self, method: str, path: str, body: dict[str, str] | None = None) -> Response:
        content = b"" if body is None else msgspec.json.encode(body)
        try:
            answer = await self.client.send(
                method, self._target(path), self._headers, content, max_bytes=MAX_RESPONSE_BYTES
            )
        except RequestFailed as failed:
            raise ForgeRefused(0, f"The forge could not be reached: {failed}") from None
        if not 200 <= answer.status < 300:
            raise ForgeRefused(answer.status)
        return answer

    def _target(self, path: str) -> Target:
        if self.kind == "github" and self.repository.host == GITHUB:
            return Target(GITHUB_API, 443, path, None)
        # The port of a repository over ssh is not that of the API.
        port = self.repository.port if self.repository.is_https else None
        return Target(
            self.repository.host, port or 443, f"{_PREFIXES[self.kind]}{path}", self.repository.literal
        )

    @property
    def _headers(self) -> bytes:
        return (
            f"{_CREDENTIALS[self.kind]}{self.token}\r\nAccept: application/json\r\n"
            "Content-Type: application/json\r\nUser-Agent: stead\r\n"
        ).encode("ascii")


def _decode(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError:
        raise ForgeRefused(0, "The forge did not answer as its API does.") from None
