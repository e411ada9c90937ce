"""The parts of a node and of a worker that carry chunks, as processes that a test kills.

python -m tests.faults.insights.programs (shipper | worker)
"""

import asyncio
import sys

from stead.control.engines.clickhouse import ClickHouse, ClickHouseUnavailable
from stead.control.engines.nats import NATS_UNREACHABLE, Nats
from stead.control.engines.postgres import Database
from stead.control.insights.ingestion import Ingestion
from stead.control.insights.receiver import ChunkReceiver
from stead.control.insights.tables import create_tables
from stead.control.settings import from_environment as control_settings
from stead.control.settings import object_store_of
from stead.node.nats_connection import NatsConnection
from stead.node.settings import from_environment as node_settings
from stead.node.telemetry.ledger_source import LedgerSource
from stead.node.telemetry.resource_samples import ResourceSource
from stead.node.telemetry.shipper import Shipper
from stead.node.telemetry.site_logs import LogSource
from stead.node.telemetry.spans import SpanSource
from stead.node.telemetry.spool import Spool
from stead.protocol.subjects import Program
from stead.shared.clock import wall_clock

RETRY_SECONDS = 0.2


async def run_shipper() -> None:
    settings = node_settings()
    connection = NatsConnection(settings)
    spool = Spool(settings.data / "telemetry")
    source = LedgerSource(settings.ledger, spool)
    async with connection.keep_open():
        await Shipper(
            settings.node_id,
            connection,
            spool,
            source,
            LogSource(list, spool),
            ResourceSource(list, spool),
            SpanSource(list, spool),
            every=settings.telemetry_seconds,
        ).run()


async def run_worker() -> None:
    settings = control_settings()
    database = Database(settings.database_url, clock=wall_clock, size=4)
    nats = Nats(
        settings.nats_url, user=settings.nats_user, password=settings.nats_password, program=Program.WORKER
    )
    objects, clickhouse = object_store_of(settings), ClickHouse(settings.clickhouse_url)
    nats.start()
    await nats.ready()
    receiver = ChunkReceiver(nats, database, objects, wanted=True)
    while True:
        try:
            await receiver.start()
            await create_tables(clickhouse)
            break
        except (*NATS_UNREACHABLE, ClickHouseUnavailable):
            await asyncio.sleep(RETRY_SECONDS)
    await Ingestion(database, objects, clickhouse).run()


if __name__ == "__main__":
    asyncio.run({"shipper": run_shipper, "worker": run_worker}[sys.argv[1]]())
