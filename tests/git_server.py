"""A real git server on the loopback: smart HTTP over TLS with git's own backend."""

import asyncio
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stead.dev.ports import reserve_ports

_SETTINGS = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "PATH": os.environ["PATH"],
}


def git(*argv: str, cwd: Path) -> str:
    done = subprocess.run(
        ["git", *argv],  # noqa: S607
        cwd=cwd,
        env=_SETTINGS,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


@dataclass
class Repository:
    """A bare repository, and a working copy in which commits are made."""

    bare: Path
    work: Path
    url: str = ""

    @classmethod
    def create(cls, directory: Path, name: str = "site.git") -> "Repository":
        made = cls(directory / name, directory / f"{name}-work")
        git("init", "--quiet", "--bare", "--initial-branch=main", str(made.bare), cwd=directory)
        git("init", "--quiet", "--initial-branch=main", str(made.work), cwd=directory)
        git("remote", "add", "origin", str(made.bare), cwd=made.work)
        return made

    def commit(self, branch: str = "main", **files: str) -> str:
        """Commit to a branch and push it. Returns the id of the commit."""
        known = git("branch", "--list", branch, cwd=self.work)
        if git("branch", "--show-current", cwd=self.work) != branch:
            git("checkout", "--quiet", *([] if known else ["-b"]), branch, cwd=self.work)
        named = {name.replace("_", "."): text for name, text in files.items()}
        return self._commit_here(branch, named or {"index.html": os.urandom(8).hex()})

    def commit_files(self, files: Mapping[str, str]) -> str:
        """Commit files with any names to the main branch. Returns the id of the commit."""
        return self._commit_here("main", files)

    def _commit_here(self, branch: str, files: Mapping[str, str]) -> str:
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git("add", "--all", cwd=self.work)
        git("commit", "--quiet", "--allow-empty", "--message", "A change", cwd=self.work)
        git("push", "--quiet", "--force", "origin", branch, cwd=self.work)
        return git("rev-parse", "HEAD", cwd=self.work)

    def tag(self, name: str) -> None:
        git("tag", "--annotate", "--message", name, name, cwd=self.work)
        git("push", "--quiet", "origin", name, cwd=self.work)

    def delete(self, branch: str) -> None:
        git("push", "--quiet", "origin", "--delete", branch, cwd=self.work)


@dataclass
class GitServer:
    """Serves every repository below `root`."""

    root: Path
    host: str = "127.0.0.1"
    port: int = field(default_factory=lambda: reserve_ports(1)[0])
    requests: list[str] = field(default_factory=list)
    response: bytes | None = None
    """If set, the response to every request instead of git's."""
    api: Callable[[str, str, dict[str, str], bytes], bytes] | None = None
    """The API of the forge, for all paths below `/api/`."""

    def create(self, name: str = "site.git") -> Repository:
        made = Repository.create(self.root, name)
        made.url = f"https://{self.host}:{self.port}/{name}"
        return made

    @asynccontextmanager
    async def open(self, context: ssl.SSLContext) -> AsyncIterator["GitServer"]:
        server = await asyncio.start_server(self._serve, self.host, self.port, ssl=context)
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            method, target, _ = first.split(" ")
            self.requests.append(target)
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            if self.response is not None:
                answer = self.response
            elif self.api is not None and target.startswith("/api/"):
                answer = self.api(method, target, headers, body)
            else:
                answer = await self._backend(method, target, headers, body)
            writer.write(answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _backend(self, method: str, target: str, headers: dict[str, str], body: bytes) -> bytes:
        path, _, query = target.partition("?")
        environment = {
            **_SETTINGS,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
            "GIT_PROTOCOL": headers.get("git-protocol", ""),
        }
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        output, _ = await process.communicate(body)
        head, _, rest = output.partition(b"\r\n\r\n")
        status, kept = b"200 OK", []
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b": ")
            if name == b"Status":
                status = value
            else:
                kept.append(line)
        fixed = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(rest), b"Connection: close"]
        return b"\r\n".join([*fixed, *kept, b"", b""]) + rest
