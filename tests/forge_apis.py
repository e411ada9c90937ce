"""Servers that implement the parts of the APIs of GitHub Enterprise, GitLab and Gitea that concern commit
statuses and pull requests: authentication, paths, required fields, allowed values, status codes."""

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs

Kind = Literal["github", "gitlab", "gitea"]
TOKEN = "forge-token-of-the-owner"
_PREFIXES = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}
_STATES = {
    "github": {"error", "failure", "pending", "success"},
    "gitlab": {"pending", "running", "success", "failed", "canceled", "skipped"},
    "gitea": {"pending", "success", "error", "failure", "warning"},
}
_COMMIT = re.compile("[0-9a-f]{40}")


@dataclass
class ForgeServer:
    kind: Kind
    path: str
    """Of the repository, without `.git`."""
    pull_requests: dict[int, str] = field(default_factory=dict)
    """The branch of each open one."""
    from_forks: set[int] = field(default_factory=set)
    """Those whose branch is one of a copy of the repository. They come first."""
    statuses: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    refusals: list[int] = field(default_factory=list)
    """The status codes of the next answers."""
    requests: list[str] = field(default_factory=list)
    commented: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> bytes:
        path, _, query = target.partition("?")
        self.requests.append(f"{method} {path}")
        if self.refusals:
            return _answer(self.refusals.pop(0), {"message": "no"})
        if not self._is_authenticated(headers):
            return _answer(401, {"message": "Bad credentials"})
        inside = path.removeprefix(_PREFIXES[self.kind])
        repository = (
            f"/projects/{self.path.replace('/', '%2F')}" if self.kind == "gitlab" else f"/repos/{self.path}"
        )
        if inside == path or not inside.startswith(f"{repository}/"):
            return _answer(404, {"message": "Not Found"})
        given = json.loads(body) if body else {}
        filters = {name: values[0] for name, values in parse_qs(query).items()}
        status, content = self._respond(method, inside.removeprefix(repository), filters, given)
        return _answer(status, content)

    def _is_authenticated(self, headers: dict[str, str]) -> bool:
        if self.kind == "gitlab":
            return headers.get("private-token") == TOKEN
        word = {"github": "Bearer", "gitea": "token"}[self.kind]
        agent = self.kind != "github" or bool(headers.get("user-agent"))
        return agent and headers.get("authorization") == f"{word} {TOKEN}"

    def _respond(
        self, method: str, path: str, filters: dict[str, str], given: dict[str, Any]
    ) -> tuple[int, Any]:
        if found := re.fullmatch("/statuses/(.+)", path):
            return self._set_status(method, found[1], given)
        if path == ("/merge_requests" if self.kind == "gitlab" else "/pulls"):
            return (200, self._list(filters)) if method == "GET" else (405, {})
        return self._write_comment(method, path, given)

    def _set_status(self, method: str, commit: str, given: dict[str, Any]) -> tuple[int, Any]:
        named = given.get("name" if self.kind == "gitlab" else "context")
        if method != "POST":
            return 405, {}
        if not _COMMIT.fullmatch(commit):
            return 422, {"message": "No commit found for SHA"}
        if (
            given.get("state") not in _STATES[self.kind]
            or not named
            or len(given.get("description", "")) > 140
        ):
            return 422, {"message": "Validation Failed"}
        self.statuses.append({**given, "commit": commit, "named": named})
        return 201, {"id": len(self.statuses), "url": "x" * 3000}

    def _list(self, filters: dict[str, str]) -> list[dict[str, Any]]:
        opened = filters.get("state") == ("opened" if self.kind == "gitlab" else "open")
        wanted = filters.get("source_branch")
        if self.kind == "github":
            owner, _, wanted = filters.get("head", "").partition(":")
            opened = opened and owner == self.path.partition("/")[0]
        found = [(number, branch) for number, branch in self.pull_requests.items() if opened]
        found.sort(key=lambda each: each[0] not in self.from_forks)
        if self.kind != "gitea":
            found = [(number, branch) for number, branch in found if branch == wanted]
        return [self._describe(number, branch) for number, branch in found]

    def _describe(self, number: int, branch: str) -> dict[str, Any]:
        source = 2 if number in self.from_forks else 1
        common = {"id": number * 1000, "title": "é" * 500}
        if self.kind == "gitlab":
            projects = {"source_project_id": source, "target_project_id": 1}
            return {**common, "iid": number, "source_branch": branch, **projects}
        head = {"ref": branch, "repo": {"id": source}}
        return {**common, "number": number, "head": head, "base": {"ref": "main", "repo": {"id": 1}}}

    def _write_comment(self, method: str, path: str, given: dict[str, Any]) -> tuple[int, Any]:
        place = "/merge_requests/([0-9]+)/notes" if self.kind == "gitlab" else "/issues/([0-9]+)/comments"
        if method == "POST" and (found := re.fullmatch(place, path)):
            if int(found[1]) not in self.pull_requests or not given.get("body"):
                return 404, {}
            id_ = 100 + len(self.comments)
            self.commented.set()
            self.comments[id_] = {"number": int(found[1]), "body": given["body"]}
            return 201, {"url": "https://forge.example/" + "x" * 2000, "id": id_, "body": given["body"]}
        one = f"{place}/([0-9]+)" if self.kind == "gitlab" else "/issues()/comments/([0-9]+)"
        found = re.fullmatch(one, path)
        if found is None or int(found[2]) not in self.comments:
            return 404, {}
        if method != ("PUT" if self.kind == "gitlab" else "PATCH"):
            return 405, {}
        self.comments[int(found[2])]["body"] = given["body"]
        return 200, {"id": int(found[2])}


def _answer(status: int, content: Any) -> bytes:
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
