"""Restores what NATS has lost: its streams, and the edge records of every region."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

from stead.control.edge_feed.feed import FeedUnavailable
from stead.control.edge_feed.republishing import Republisher
from stead.control.engines.nats import NATS_UNREACHABLE

log = structlog.get_logger()

CHECK_SECONDS = 10.0


class FeedRestorer:
    """`ensure_streams` creates the streams that are missing and returns their names. `on_restored` is called
    when nodes need new consumers."""

    def __init__(
        self,
        republisher: Republisher,
        ensure_streams: Callable[[], Awaitable[list[str]]],
        on_restored: Callable[[], None],
    ) -> None:
        self._republisher, self._ensure_streams = republisher, ensure_streams
        self._on_restored, self._wake = on_restored, asyncio.Event()

    def wake(self) -> None:
        """A region was found whose records are not complete."""
        self._wake.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            self._wake.clear()
            try:
                await self._restore()
            except (FeedUnavailable, *NATS_UNREACHABLE) as error:
                log.warning("feed.not_restored", reason=type(error).__name__)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._wake.wait()

    async def _restore(self) -> None:
        if created := await self._ensure_streams():
            log.warning("nats.streams_created", streams=created)
            self._on_restored()
        for region in await self._republisher.list_incomplete():
            sites = await self._republisher.republish(region)
            log.warning("feed.republished", region=region, sites=sites)
            self._on_restored()
