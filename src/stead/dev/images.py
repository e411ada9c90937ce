"""What a node needs to build sites: an image, made the first time and found ever after, and a registry.
Where it cannot be had the stack comes up without builds, and says why."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO

from stead.dev.engine import surroundings
from stead.dev.process import Streams, exit_of, run, spawn
from stead.dev.programs import STEADCTL

POLL = 0.5
PATIENCE = 10.0
PLACE = "STEAD_IMAGES"

Tell = Callable[[str], None]
Prepare = Callable[[], Awaitable[None]]


async def ensure_image(tell: Tell) -> None:
    """Never fails: builds are then unavailable, and everything else works."""
    began, told = time.monotonic(), False
    with tempfile.TemporaryFile() as said:
        making = asyncio.create_task(_made(said))
        try:
            while not making.done():
                await asyncio.wait({making}, timeout=POLL)
                # It says something when it begins to make one, and when it cannot.
                if not told and not making.done() and os.fstat(said.fileno()).st_size:
                    told = True
                    tell("images: making what builds run in; the first time only, it takes about a minute")
        finally:
            making.cancel()
            await asyncio.wait({making})
        if making.result() != 0:
            tell(f"images: builds are unavailable: {_last_line(said)}")
        elif told:
            tell(f"images: ready in {time.monotonic() - began:.0f} s")


async def build_environment() -> dict[str, str]:
    """The settings of a node that builds on this machine: its npm registry, and repositories on loopback."""
    given = {PLACE: os.environ[PLACE]} if PLACE in os.environ else {}
    given["STEAD_BUILD_NETWORKS"] = "127.0.0.0/8,::1/128"
    if npm := shutil.which("npm"):
        said = await run([npm, "config", "get", "registry"], env=surroundings({}), cwd=Path("/"))
        if said.code == 0 and said.output.startswith("http"):
            given["STEAD_NPM_REGISTRY"] = said.output.strip().removesuffix("/") + "/"
    return given


async def _made(said: IO[bytes]) -> int:
    place = {PLACE: os.environ[PLACE]} if PLACE in os.environ else {}
    process = spawn(
        [*STEADCTL, "images", "build"],
        streams=Streams(subprocess.DEVNULL, subprocess.DEVNULL, said),
        env=surroundings(place),
    )
    try:
        return await exit_of(process)
    finally:
        if process.returncode is None:
            await _ended(process.pid, exit_of(process))


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return (lines[-1] if lines else "nobody knows why").removeprefix("steadctl images: ")


async def _ended(group: int, exit_: Awaitable[int]) -> None:
    """With whatever it has started, which gets a moment to tidy up."""
    os.killpg(group, signal.SIGTERM)
    waiting = asyncio.ensure_future(exit_)
    await asyncio.wait({waiting}, timeout=PATIENCE)
    if not waiting.done():
        os.killpg(group, signal.SIGKILL)
        await asyncio.wait({waiting})
