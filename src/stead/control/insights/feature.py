"""Insights: what visitors do on sites, and how fast and how well sites answer."""

from functools import partial

from stead.control import metrics
from stead.control.engines.clickhouse import ClickHouse
from stead.control.engines.postgres import Tx
from stead.control.feature import Feature
from stead.control.insights import chunk_store, ingestion, operations, tables
from stead.control.insights.platform_reports import INSERT_SECONDS, PlatformReceiver
from stead.control.insights.storage import record_today
from stead.control.tasks import LongRunningTask, PeriodicTask, PreparationTask, Task, WorkerServices

REMOVE_SECONDS = 60
ERASE_SECONDS = 3600
RECORD_SECONDS = 3600


def _tasks(worker: WorkerServices) -> list[Task]:
    """Nothing is inserted if ClickHouse is not configured."""
    recording = PeriodicTask("storage.record", RECORD_SECONDS, partial(record_today, worker.database))
    if not worker.settings.clickhouse_url:
        return [recording]
    clickhouse = ClickHouse(worker.settings.clickhouse_url)
    platform = PlatformReceiver(worker.nats, clickhouse)
    inserting = ingestion.Ingestion(worker.database, worker.objects, clickhouse)
    return [
        recording,
        PreparationTask("insights.create_tables", partial(tables.create_tables, clickhouse)),
        LongRunningTask("insights.insert", inserting.run),
        PreparationTask("platform.receive", platform.start),
        PeriodicTask("platform.insert", INSERT_SECONDS, platform.insert),
        PeriodicTask(
            "insights.remove_old",
            REMOVE_SECONDS,
            partial(ingestion.remove_old, worker.database, worker.objects),
        ),
        PeriodicTask(
            "insights.erase_deleted",
            ERASE_SECONDS,
            partial(ingestion.erase_deleted, worker.database, clickhouse),
        ),
    ]


async def _measure(tx: Tx) -> None:
    metrics.telemetry_waiting.set(await chunk_store.count_stored(tx, metrics.COUNT_TO))


FEATURE = Feature(name="insights", operations=[operations.operation], tasks=_tasks, measure=_measure)
