"""`steadctl node` with one more driver: when its background task ends, the log tells whether commands run."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import structlog

from stead.node import main as node
from stead.node.drivers.driver import Assignment, Driver, Handler
from stead.node.drivers.driver_set import DriverSet, DriverSets
from stead.node.drivers.installed import install_drivers
from stead.protocol.work.hosting import RemoveRoute

log = structlog.get_logger()


class WatchedDriver(Driver):
    _working = 0

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(RemoveRoute, self.remove_route)]

    async def remove_route(self, _: Assignment, __: RemoveRoute) -> None:
        self._working += 1
        log.info("work.begun")
        try:
            await asyncio.Event().wait()
        finally:
            self._working -= 1

    def background_tasks(self) -> Mapping[str, Callable[[], Coroutine[Any, Any, None]]]:
        return {"watched.run": self.run}

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            log.info("driver.closed", working=self._working)


def install_watched_driver(*args: Any) -> DriverSets:
    return {**install_drivers(*args), "live": DriverSet([WatchedDriver()])}


def main() -> None:
    with patch("stead.node.main.install_drivers", install_watched_driver):
        node.run()


if __name__ == "__main__":
    main()
