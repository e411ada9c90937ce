"""The host of functions: serves what the table of the agent says."""

import asyncio
import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import structlog

from stead.node.functions import places
from stead.node.functions.bindings import AskState, Bindings
from stead.node.functions.call_spans import CallSpans
from stead.node.functions.compilation import compile_version
from stead.node.functions.container import FunctionsContainer
from stead.node.functions.control_link import HostAnswer, HostOrder, serve_orders
from stead.node.functions.driver import FunctionTable
from stead.node.functions.log_files import LogFiles
from stead.node.functions.outgoing import Outgoing
from stead.node.functions.processes import FunctionProcesses
from stead.node.functions.served_version import FunctionRefused
from stead.node.functions.serving import Serving
from stead.node.functions.spec import FunctionSpec
from stead.node.hosting.desired_state import SecretsUnreadable

SHORTEST_SECRET, MOST_HIDDEN = 4, 200
"""A shorter value is not hidden in logs: it would hide ordinary words."""

log = structlog.get_logger()


def choose_hidden(values: Iterable[str], before: Iterable[str]) -> tuple[str, ...]:
    """What is hidden in the log of a version. Processes that still run may log the former secrets."""
    known = dict.fromkeys(value for value in (*values, *before) if len(value) >= SHORTEST_SECRET)
    return tuple(known)[:MOST_HIDDEN]


class FunctionsHost:
    def __init__(
        self,
        data: Path,
        table: FunctionTable,
        container: FunctionsContainer,
        ask_state: AskState,
        outgoing: Outgoing,
        *,
        most_workers: int,
        site_memory_mb: int,
    ) -> None:
        self._data, self._table = data, table
        self._hidden: dict[str, tuple[str, ...]] = {}
        self._logs, self._spans = LogFiles(data), CallSpans()
        bindings = Bindings(data, ask_state, outgoing, lambda *wanted: self._serving.find_active(*wanted))
        self._serving = Serving(
            data,
            bindings.answer,
            self._report,
            most_workers=most_workers,
            site_memory_mb=site_memory_mb,
            room=outgoing.room,
        )
        self._processes = FunctionProcesses(container, self._serving.forget_workers)
        self._serving.processes = self._processes

    async def run(self) -> None:
        """Serve until cancelled."""
        container = asyncio.create_task(self._processes.run())
        watching = asyncio.create_task(self._serving.run())
        orders = await serve_orders(places.control_socket(self._data), self._obey)
        try:
            await self._serve_all()
            done, _ = await asyncio.wait({container, watching}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            orders.close()
            self._serving.close()
            for task in (watching, container):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _serve_all(self) -> None:
        """Everything that was served before a restart. A version whose compiled form is missing is compiled
        again, while the others are served."""
        for version in self._table.names():
            if places.compiled(self._data, version).exists():
                self._serve(version)
        for version in self._table.names():
            if version not in self._serving.versions:
                await self._obey(HostOrder("ensure", version))

    async def _obey(self, order: HostOrder) -> HostAnswer:
        if order.action == "spans":
            return HostAnswer(ok=True, spans=self._spans.take())
        known = set(self._table.names())
        for version in set(self._serving.versions) - known:
            self._serving.withdraw(version)
            self._hidden.pop(version, None)
        if order.action == "reload":
            return HostAnswer(ok=True)
        if order.version not in known:
            return HostAnswer(ok=False, reason="the version is not in the table")
        try:
            row = self._table.find(order.version)
            assert row is not None  # noqa: S101
            await compile_version(self._processes, self._data, row.spec, row.slot)
            self._serve(order.version)
            if row.spec.active:
                self._refresh_others(row.spec)
            await self._serving.probe(order.version)
        except FunctionRefused as refused:
            return HostAnswer(ok=False, reason=str(refused)[:1000])
        except SecretsUnreadable:
            return HostAnswer(ok=False, reason="its secrets were sealed with another key of the node")
        return HostAnswer(ok=True)

    def _serve(self, version: str) -> None:
        row = self._table.find(version)
        if row is None:
            return
        values = row.secrets.values
        self._hidden[version] = choose_hidden(values.values(), self._hidden.get(version, ()))
        self._serving.serve(row.spec, {**row.spec.variables, **values}, row.slot)

    def _refresh_others(self, active: FunctionSpec) -> None:
        """Those that were active before are not any more."""
        for version in self._serving.versions:
            spec = self._table.find_spec(version)
            if spec is not None and spec.function == active.function:
                self._serving.set_active(version, active=spec.active)

    def _report(self, spec: FunctionSpec, report: dict[str, Any]) -> None:
        if report.get("is_traced"):
            self._spans.add(spec, report)
        try:
            self._logs.write(spec, report, self._hidden.get(spec.version, ()))
        except OSError as error:
            log.warning("functions.log_failed", version=spec.version, error=type(error).__name__)
