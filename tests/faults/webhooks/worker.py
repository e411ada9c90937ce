"""`python -m tests.faults.webhooks.worker`: the sequencer and delivery worker of a worker, with a clock that
the test can move."""

import asyncio
import mmap
import ssl
import struct
import sys
from datetime import datetime, timedelta
from pathlib import Path

import uvloop

from stead.control.engines.postgres import Database
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.events.sequencer import Sequencer
from stead.control.features import event_catalog
from stead.control.http.client_address import parse_networks
from stead.control.notifications import service as notifications
from stead.control.sealing import Sealer
from stead.control.tasks import PeriodicTask, TaskRunner
from stead.control.webhooks import service as webhooks
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.delivery_worker import DeliveryWorker
from stead.shared import log
from stead.shared.address_policy import AddressPolicy
from stead.shared.clock import wall_clock


class SharedClock:
    """The wall clock plus an offset in seconds that is stored in a file, shared between processes."""

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._ahead = mmap.mmap(opened.fileno(), 8)

    def __call__(self) -> datetime:
        return wall_clock() + timedelta(seconds=self.ahead)

    @property
    def ahead(self) -> float:
        return float(struct.unpack("d", self._ahead[:8])[0])

    @ahead.setter
    def ahead(self, seconds: float) -> None:
        self._ahead[:8] = struct.pack("d", seconds)


async def _run(database_url: str, key: str, authority: str, clock_file: str, seconds: str) -> None:
    clock = SharedClock(Path(clock_file))
    database, listener = Database(database_url, clock=clock, size=6), PostgresListener(database_url)
    listener.start()
    sequencer = Sequencer(
        database, listener, [webhooks.receive_events, notifications.receive_events], event_catalog()
    )
    client = HttpsClient(
        AddressPolicy(parse_networks(["127.0.0.0/8"])),
        context=ssl.create_default_context(cafile=authority),
        seconds=float(seconds),
    )
    deliveries = DeliveryWorker(database, listener, Sealer.from_text(key), client, clock=clock)

    async def clean_up() -> None:
        async with database.transaction() as tx:
            await webhooks.clean_up(tx)

    TaskRunner([PeriodicTask("webhooks.clean_up", 0.5, clean_up)]).start()
    print("ready", flush=True)  # noqa: T201 - the parent process waits for this line
    await asyncio.gather(sequencer.run(), deliveries.run())


if __name__ == "__main__":
    log.configure()
    uvloop.run(_run(*sys.argv[1:]))
