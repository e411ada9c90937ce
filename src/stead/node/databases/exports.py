"""Dumps a database, some of its tables or the result of a statement for the customer, and uploads that."""

import gzip
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stead.mariadb.connection import connect
from stead.node import transfer
from stead.node.databases.dumps import DumpFailed, dump
from stead.node.databases.site_queries import MAX_RESULT, SiteQueries
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.processes import Run
from stead.node.progress import Progress
from stead.node.uninterrupted import run_in_pool, run_in_thread
from stead.protocol.work import DatabaseExported, ExportDatabase

FAILED = "database.export_failed"
MAX_BYTES = 20 << 30
_PIECE = 1 << 20
_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="exports")


@dataclass(frozen=True)
class DatabaseExports:
    run: Run
    socket: Path
    scratch: Path
    space: DiskSpace

    async def export(self, schema: str, task: Assignment, work: ExportDatabase) -> DatabaseExported:
        size, missing = await run_in_thread(self._measure, schema, work.tables)
        if missing:
            raise Refusal(FAILED, f"there is no table {missing[0]}")
        self.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Text is longer than rows, and the compressed file is beside it for a moment.
        with self.space.reserve(3 * size):
            folder = Path(tempfile.mkdtemp(dir=self.scratch))
            try:
                return await self._export_to(folder / "dump.sql", schema, task, work)
            except DumpFailed as failed:
                raise Refusal(FAILED, str(failed)) from None
            finally:
                await run_in_thread(shutil.rmtree, folder, True)

    async def export_result(
        self, schema: str, task: Assignment, work: ExportDatabase, queries: SiteQueries
    ) -> DatabaseExported:
        """Of a statement, instead of tables."""
        self.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.space.reserve(MAX_RESULT):
            folder = Path(tempfile.mkdtemp(dir=self.scratch))
            try:
                file = folder / "result.jsonl"
                await queries.write_result(work.statement, schema, file, compress=work.compress)
                await transfer.put(file, work.url)
                size = file.stat().st_size
                await task.output.say(f"export: {size} bytes")
                return DatabaseExported(size)
            finally:
                await run_in_thread(shutil.rmtree, folder, True)

    async def _export_to(
        self, file: Path, schema: str, task: Assignment, work: ExportDatabase
    ) -> DatabaseExported:
        progress = Progress(task.output, "export")
        await dump(self.run, self.socket, schema, file, progress, MAX_BYTES, tables=work.tables)
        if work.compress:
            file = await run_in_pool(_THREADS, _compress, file)
        await transfer.put(file, work.url)
        size = file.stat().st_size
        await progress.finish(size)
        return DatabaseExported(size)

    def _measure(self, schema: str, tables: tuple[str, ...]) -> tuple[int, list[str]]:
        """The bytes of the tables, and the names of those that do not exist."""
        with connect(self.socket) as connection:
            rows = connection.execute(
                "SELECT table_name, CAST(COALESCE(data_length, 0) AS INTEGER) FROM information_schema.tables"
                " WHERE table_schema = %s",
                [schema],
            )
        sizes = {str(name): int(size or 0) for name, size in rows}
        wanted = tables or tuple(sizes)
        return sum(sizes.get(name, 0) for name in wanted), [name for name in wanted if name not in sizes]


def _compress(file: Path) -> Path:
    target = file.with_suffix(".sql.gz")
    with file.open("rb") as source, gzip.open(target, "wb", compresslevel=6) as compressed:
        shutil.copyfileobj(source, compressed, _PIECE)
    file.unlink()
    return target
