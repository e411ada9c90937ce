"""What the node on this machine needs for builds: an image, which is created once, and an npm registry.

If the image cannot be created, the stack starts without builds and says why."""

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

from stead.dev.programs import STEADCTL
from stead.dev.subprocesses import Streams, run, spawn, wait_for_exit
from stead.dev.supervised_program import clean_environment

POLL_INTERVAL = 0.5
STOP_TIMEOUT = 10.0
IMAGES = "STEAD_IMAGES"
"""The variable with the directory of images. Taken from the user's environment if it is set."""

Report = Callable[[str], None]
PrepareNode = Callable[[], Awaitable[None]]


async def ensure_build_image(report: Report) -> None:
    """Never raises. Without an image, builds are unavailable and everything else works."""
    started, reported = time.monotonic(), False
    with tempfile.TemporaryFile() as errors:
        build = asyncio.create_task(_run_image_build(errors))
        try:
            while not build.done():
                await asyncio.wait({build}, timeout=POLL_INTERVAL)
                # The command writes to stderr only if it starts to create an image, or fails.
                if not reported and not build.done() and os.fstat(errors.fileno()).st_size:
                    reported = True
                    report("images: creating the build image; only the first time, takes about a minute")
        finally:
            build.cancel()
            await asyncio.wait({build})
        if build.result() != 0:
            report(f"images: builds are unavailable: {_last_line(errors)}")
        elif reported:
            report(f"images: ready in {time.monotonic() - started:.0f} s")


async def build_settings() -> dict[str, str]:
    """The settings of a node that builds on this machine: it uses the registry of the local npm, and may
    fetch from repositories on loopback."""
    settings = _image_directory() | {"STEAD_BUILD_NETWORKS": "127.0.0.0/8,::1/128"}
    if npm := shutil.which("npm"):
        completed = await run([npm, "config", "get", "registry"], env=clean_environment({}), cwd=Path("/"))
        if completed.code == 0 and completed.output.startswith("http"):
            settings["STEAD_NPM_REGISTRY"] = completed.output.strip().removesuffix("/") + "/"
    return settings


def _image_directory() -> dict[str, str]:
    return {IMAGES: os.environ[IMAGES]} if IMAGES in os.environ else {}


async def _run_image_build(errors: IO[bytes]) -> int:
    process = spawn(
        [*STEADCTL, "images", "build"],
        streams=Streams(subprocess.DEVNULL, subprocess.DEVNULL, errors),
        env=clean_environment(_image_directory()),
    )
    try:
        return await wait_for_exit(process)
    finally:
        if process.returncode is None:
            await _stop_group(process.pid, wait_for_exit(process))


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return (lines[-1] if lines else "unknown reason").removeprefix("steadctl images: ")


async def _stop_group(group: int, exit_: Awaitable[int]) -> None:
    """Stops the process and everything it has started, with some time to clean up."""
    os.killpg(group, signal.SIGTERM)
    exited = asyncio.ensure_future(exit_)
    await asyncio.wait({exited}, timeout=STOP_TIMEOUT)
    if not exited.done():
        os.killpg(group, signal.SIGKILL)
        await asyncio.wait({exited})
