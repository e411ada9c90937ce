"""Adapts the rows of a copy to the environment that gets them: its own host, and harmless."""

import asyncio
from collections.abc import Callable, Sequence
from threading import Event
from urllib.parse import urlsplit

from stead.mariadb.connection import StatementFailed
from stead.node.drivers.driver import Assignment
from stead.node.progress import Progress
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.database_urls import DatabaseCounts, ReplacementFailed, replace_in_schema
from stead.node.wordpress.datasets import DatasetFailed
from stead.node.wordpress.dump_urls import DumpUrls
from stead.node.wordpress.neutralization import neutralize
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.url_replacement import UrlReplacement

_POLL_SECONDS = 0.2


class CopiedRows:
    """Of an environment with one of the `hosts`. Those that production gets are not made harmless."""

    def __init__(
        self, hosts: Sequence[str], plan: WordPressPlan, task: Assignment, *, harmless: bool
    ) -> None:
        self._plan, self._output, self._harmless = plan, task.output, harmless
        new = urlsplit(plan.desired.spec.settings.url).hostname or ""
        self._replacement = UrlReplacement.between(hosts, new)
        self._in_dump = DumpUrls(self._replacement)
        self._progress = Progress(task.output, "rows with URLs")

    def change_line(self, line: bytes) -> bytes:
        return self._in_dump.change_line(line)

    async def finish(self) -> None:
        """Raises DatasetFailed."""
        try:
            counts = await self._replace_rest()
            if self._harmless:
                await run_in_thread(neutralize, self._plan.database_socket, self._plan.database)
        except ReplacementFailed as failure:
            raise DatasetFailed(str(failure)) from None
        except StatementFailed as error:
            raise DatasetFailed(f"the rows could not be adapted: error {error.number}") from None
        await self._output.say(describe(counts))

    async def _replace_rest(self) -> DatabaseCounts:
        """A job that is cancelled or over its time limit ends at the next row."""
        stopped, done = Event(), self._in_dump.bytes

        def on_row(size: int) -> None:
            nonlocal done
            done += size
            if stopped.is_set():
                raise ReplacementFailed("the job was stopped")

        running = asyncio.ensure_future(run_in_thread(self._replace_in_schema, on_row))
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=_POLL_SECONDS)
                await self._progress.report(done)
            return running.result()
        finally:
            stopped.set()
            await asyncio.wait({running})

    def _replace_in_schema(self, on_row: Callable[[int], None]) -> DatabaseCounts:
        plan, finished = self._plan, self._in_dump.finished
        counts = replace_in_schema(plan.database_socket, plan.database, self._replacement, on_row, finished)
        self._in_dump.add_counts(counts)
        return counts


def describe(counts: DatabaseCounts) -> str:
    """What was replaced, and what was not."""
    values = counts.values
    left = {
        "too large": counts.too_large,
        "do not fit in their table": counts.refused,
        "broken before": values.broken,
        "in a format with lengths": values.unsupported,
        "in Base64": values.base64,
    }
    text = f"URLs: {values.urls} replaced in {counts.rows} rows"
    if some := [f"{number} {why}" for why, number in left.items() if number]:
        text += f"; values that were left as they are: {', '.join(some)}"
    if counts.without_key:
        names = ", ".join(counts.without_key[:10])
        text += f"; tables without a primary key, with rows that were left as they are: {names}"
    return text
