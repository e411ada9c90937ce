"""Calls the TypeScript client in a process of Node.js."""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clients.generator.typescript import lower_camel_case
from tests.patience import slowdown

PACKAGE = Path(__file__).parents[2] / "clients" / "typescript"


class TypeScriptError(Exception):
    """What the client threw."""

    def __init__(self, thrown: dict[str, Any]) -> None:
        super().__init__(thrown["message"])
        self.classes: list[str] = thrown["classes"]
        self.code: str | None = thrown.get("code")
        self.thrown = thrown


@dataclass
class Node:
    process: asyncio.subprocess.Process

    async def call(self, operation: str, *given: Any, **more: Any) -> Any:
        """`sites.get`; without a dot, a method of the client itself."""
        resource, _, action = operation.rpartition(".")
        asked = {
            "resource": lower_camel_case(resource) if resource else "",
            "action": lower_camel_case(action),
            "arguments": given,
            **more,
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        line = await asyncio.wait_for(self.process.stdout.readline(), 60 * slowdown())
        answer = json.loads(line)
        if "error" in answer:
            raise TypeScriptError(answer["error"])
        return answer["value"]


@cache
def build() -> None:
    """Compile the client. Several processes of a test run use the same output, which only the first makes."""
    made, sources = PACKAGE / "dist" / "index.js", _digest_sources()
    stamp = PACKAGE / "node_modules" / ".built"
    with stamp.open("a+") as known:
        fcntl.flock(known, fcntl.LOCK_EX)
        known.seek(0)
        if known.read() == sources and made.exists():
            return
        known.truncate(0)
        done = run_tool("tsc", "-p", "tsconfig.json")
        assert done.returncode == 0, done.stdout
        known.write(sources)


def _digest_sources() -> str:
    files = [PACKAGE / "tsconfig.json", PACKAGE / "package-lock.json", *sorted(PACKAGE.glob("src/**/*.ts"))]
    found = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        found.update(f"{file.relative_to(PACKAGE)} {len(content)}\n".encode() + content)
    return found.hexdigest()


def run_tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PACKAGE / "node_modules" / ".bin" / name, *arguments],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        timeout=300 * slowdown(),
        check=False,
    )


@cache
def runtimes() -> dict[str, list[str]]:
    """How Deno and Bun run a program. They are installed from npm."""
    npm, folder = shutil.which("npm"), PACKAGE / "runtimes"
    assert npm is not None
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    subprocess.run([npm, "ci", *options], cwd=folder, check=True, timeout=600 * slowdown())
    installed = folder / "node_modules"
    [deno, *_] = sorted(installed.glob("@deno/*/deno"))
    [bun, *_] = sorted(installed.glob("@oven/*/bin/bun"))
    permissions = ["--no-prompt", "--cached-only", "--allow-net=127.0.0.1", "--allow-env"]
    return {"deno": [str(deno), "run", *permissions], "bun": [str(bun), "run"]}


@asynccontextmanager
async def node(
    base_url: str, api_key: str, timeout_ms: int = 60_000, runtime: str = "node"
) -> AsyncIterator[Node]:
    build()
    program = ["node"] if runtime == "node" else runtimes()[runtime]
    process = await asyncio.create_subprocess_exec(
        *program,
        str(PACKAGE / "test" / "driver.mjs"),
        env={
            "PATH": os.environ["PATH"],
            "STEAD_BASE_URL": base_url,
            "STEAD_API_KEY": api_key,
            "STEAD_TIMEOUT": str(timeout_ms),
        },
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=64 * 1024 * 1024,
    )
    try:
        yield Node(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
