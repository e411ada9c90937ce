"""Dumps a database, some of its tables or the result of a statement for the customer, and uploads that."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stead.mariadb.connection import connect
from stead.node import transfer
from stead.node.databases.dumps import LOW_PRIORITY, DumpFailed, dump, dump_bound
from stead.node.databases.site_queries import MAX_RESULT, SiteQueries
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.processes import Run, StreamName
from stead.node.progress import Progress
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.cms import DatabaseExported, ExportDatabase

FAILED = "database.export_failed"


@dataclass(frozen=True)
class DatabaseExports:
    run: Run
    socket: Path
    scratch: Path
    space: DiskSpace

    async def export(self, schema: str, task: Assignment, work: ExportDatabase) -> DatabaseExported:
        tables = tuple(dict.fromkeys(work.tables))
        size, missing = await run_in_thread(self._measure, schema, tables)
        if missing:
            raise Refusal(FAILED, f"there is no table {missing[0]}")
        self.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What MariaDB says about sizes is the choice of the customer. No more is written than is reserved.
        bound = dump_bound(size)
        # The compressed file is beside the other one for a moment.
        with self.space.reserve(2 * bound if work.compress else bound):
            folder = Path(tempfile.mkdtemp(dir=self.scratch))
            try:
                file, progress = folder / "dump.sql", Progress(task.output, "export")
                await dump(self.run, self.socket, schema, file, progress, bound, tables=tables)
                if work.compress:
                    file = await self._compress(file)
                return await _upload(file, work.url, progress)
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

    def clear(self) -> None:
        """Remove what exports that were interrupted have left. Blocks."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    async def _compress(self, file: Path) -> Path:
        """In a process, which ends with the job."""

        async def ignore(_: StreamName, __: bytes) -> None:
            return

        if await self.run([*LOW_PRIORITY, "gzip", "-n", "--", str(file)], ignore):
            raise Refusal(FAILED, "the dump could not be compressed")
        return file.with_name(f"{file.name}.gz")

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


async def _upload(file: Path, url: str, progress: Progress) -> DatabaseExported:
    await transfer.put(file, url)
    size = (await run_in_thread(file.stat)).st_size
    await progress.finish(size)
    return DatabaseExported(size)
