"""Servers on loopback: git over smart HTTP, and an object store."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Serve in a thread, and yield the port."""
    server = ThreadingHTTPServer((LOOPBACK, 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    def body(self) -> bytes:
        if self.headers.get("transfer-encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass
class Store:
    """An object store that keeps files by path."""

    port: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    refusals: int = 0
    """How many of the next uploads fail."""
    uploads_forbidden: bool = False

    def url(self, name: str) -> str:
        return f"http://{LOOPBACK}:{self.port}/{name}?signature=canary-of-a-signature"

    def handler(store) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(Quiet):
            def do_PUT(self) -> None:
                content = self.body()
                if store.uploads_forbidden:
                    self.reply(403)
                    return
                if store.refusals:
                    store.refusals -= 1
                    self.reply(503)
                    return
                store.files[urlsplit(self.path).path[1:]] = content
                self.reply(200)

            def do_GET(self) -> None:
                name = urlsplit(self.path).path[1:]
                if name in store.redirects:
                    self.reply(302, headers={"Location": store.redirects[name]})
                elif name in store.files:
                    self.reply(200, store.files[name])
                else:
                    self.reply(404)

        return Handler


@contextmanager
def store() -> Iterator[Store]:
    it = Store()
    with serving(it.handler()) as it.port:
        yield it


@dataclass
class GitServer:
    """Bare repositories in one directory, served by git's own HTTP backend."""

    place: Path
    port: int = 0
    login: str = ""
    """The required Authorization header, if any."""

    def url(self, name: str) -> str:
        return f"http://{LOOPBACK}:{self.port}/{name}.git"

    def repository(self, name: str, files: dict[str, str], message: str = "First.") -> str:
        """Create the repository, or add a commit to its branch main. Returns the commit."""
        bare, tree = self.place / f"{name}.git", self.place / f"{name}.tree"
        if not bare.exists():
            git("init", "--quiet", "--bare", "--initial-branch=main", str(bare), at=self.place)
            git("clone", "--quiet", str(bare), str(tree), at=self.place)
        for path, content in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(content)
        git("add", "--all", at=tree)
        git("commit", "--quiet", "--allow-empty", "--message", message, at=tree)
        git("push", "--quiet", "--tags", "origin", "HEAD:main", at=tree)
        return git("rev-parse", "HEAD", at=tree)

    def handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(Quiet):
            def do_GET(self) -> None:
                if server.login and self.headers.get("authorization") != server.login:
                    self.reply(401, headers={"WWW-Authenticate": 'Basic realm="git"'})
                    return
                parts, body = urlsplit(self.path), self.body()
                done = subprocess.run(
                    ["/usr/lib/git-core/git-http-backend"],
                    input=body,
                    capture_output=True,
                    env={
                        "PATH": os.environ["PATH"],
                        "GIT_PROJECT_ROOT": str(server.place),
                        "GIT_HTTP_EXPORT_ALL": "1",
                        "GIT_CONFIG_COUNT": "1",
                        "GIT_CONFIG_KEY_0": "safe.directory",
                        "GIT_CONFIG_VALUE_0": "*",
                        "REQUEST_METHOD": self.command,
                        "PATH_INFO": parts.path,
                        "QUERY_STRING": parts.query,
                        "CONTENT_TYPE": self.headers.get("content-type", ""),
                        "CONTENT_LENGTH": str(len(body)),
                        "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
                        "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
                        "REMOTE_ADDR": LOOPBACK,
                    },
                )
                head, _, content = done.stdout.partition(b"\r\n\r\n")
                headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
                self.reply(int(headers.pop("Status", "200").split()[0]), content, headers)

            do_POST = do_GET  # noqa: N815

        return Handler


def git(*words: str, at: Path) -> str:
    who = {"NAME": "Ada Builder", "EMAIL": "ada@example.com"}
    done = subprocess.run(
        ["/usr/bin/git", "-c", "protocol.file.allow=always", *words],
        cwd=at,
        capture_output=True,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(at),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in who.items()
            },
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextmanager
def git_server(place: Path) -> Iterator[GitServer]:
    it = GitServer(place)
    with serving(it.handler()) as it.port:
        yield it
