"""Makes an image when the first site or build needs it, and reports the progress in the output of the job."""

import asyncio
import os
import sys
import time
from pathlib import Path

import structlog

from stead.node.drivers.driver import Output, Refusal
from stead.node.images.image_store import ImageStore
from stead.node.images.recipe import ImageUnavailable
from stead.node.processes import Run, StreamName

REPORT_SECONDS = 10.0
_REASON_BYTES = 2000

log = structlog.get_logger()


class ImageMaker:
    def __init__(self, images: ImageStore, run: Run, code: str = "runtime.unsupported") -> None:
        """`code` is that of the refusal if an image cannot be made."""
        self._images, self._run, self._code = images, run, code

    async def ensure(self, name: str, output: Output) -> None:
        """Return when there is an image with this name. Others that need it at the same time wait for the one
        that is being made. Raises Refusal if it cannot be made."""
        try:
            self._images.find(name)
        except ImageUnavailable:
            await self._make(name, output)

    async def _make(self, name: str, output: Output) -> None:
        await output.say(f"images: making {name}; only the first time on this machine, takes some minutes")
        log.info("images.making", image=name)
        began, written = time.monotonic(), bytearray()

        async def keep(_: StreamName, data: bytes) -> None:
            written.extend(data)
            del written[:-_REASON_BYTES]

        argv = (sys.executable, "-m", "stead.steadctl", "images", "build", name)
        making = asyncio.create_task(self._run(argv, keep, environment=_environment(self._images.directory)))
        try:
            while not making.done():
                await asyncio.wait({making}, timeout=REPORT_SECONDS)
                if not making.done():
                    await output.say(f"images: making {name} since {time.monotonic() - began:.0f} s")
        finally:
            making.cancel()
            await asyncio.wait({making})
        if making.result() != 0:
            lines = written.decode(errors="replace").strip().splitlines()
            reason = (lines or ["unknown reason"])[-1]
            log.warning("images.not_made", image=name, reason=reason)
            raise Refusal(self._code, f"the image {name} could not be made: {reason}")
        log.info("images.made", image=name)
        await output.say(f"images: {name} is ready after {time.monotonic() - began:.0f} s")


def _environment(images: Path) -> dict[str, str]:
    """That of the agent, because npm and apt are configured by it, without the secrets in its settings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEAD_")}
    return inherited | {"STEAD_IMAGES": str(images)}
