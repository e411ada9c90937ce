"""What PostgreSQL does for the statements of a request: which tables it scans, and how many rows it reads."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg
import pytest

from stead.control.engines.postgres import Tx


@dataclass(frozen=True)
class Statement:
    sql: str
    args: tuple[object, ...]


@dataclass
class Cost:
    """The cost of one or more statements."""

    rows: int = 0
    """The rows that were read from tables and indexes, also those that a condition excluded."""
    scanned: set[str] = field(default_factory=set)
    """The tables that were read from beginning to end."""
    milliseconds: float = 0.0

    def add(self, node: dict[str, Any]) -> None:
        if "Relation Name" in node or node["Node Type"] == "Bitmap Index Scan":
            read = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            self.rows += int((read + node.get("Rows Removed by Index Recheck", 0)) * node["Actual Loops"])
        if node["Node Type"] == "Seq Scan" and node["Actual Loops"] > 0:
            self.scanned.add(node["Relation Name"])
        for inner in node.get("Plans", ()):
            self.add(inner)


@contextmanager
def recorded_statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Statement]]:
    """The statements that the current task runs meanwhile, without those of background tasks."""
    statements: list[Statement] = []
    with monkeypatch.context() as patched:
        for name, at in (("one", 1), ("all", 1), ("value", 0), ("run", 0)):
            patched.setattr(Tx, name, _recording(getattr(Tx, name), at, statements))
        yield statements


def _recording(method: Any, at: int, statements: list[Statement]) -> Any:
    recorder = asyncio.current_task()

    async def run(tx: Tx, *given: Any) -> Any:
        if asyncio.current_task() is recorder:
            statements.append(Statement(given[at], given[at + 1 :]))
        return await method(tx, *given)

    return run


async def cost_of(url: str, statements: list[Statement], *, plan: str) -> Cost:
    """Run the statements again, with a plan for these arguments ("custom") or for all ("generic").

    PostgreSQL uses custom plans for the first executions of a prepared statement, and a generic plan later.
    """
    total = Cost()
    connection = await asyncpg.connect(url, server_settings={"jit": "off"})
    try:
        await connection.execute(f"set plan_cache_mode = force_{plan}_plan")
        for number, statement in enumerate(statements):
            await connection.execute(f"prepare s{number} as {statement.sql}")
            arguments = ", ".join(map(_literal, statement.args))
            call = f"execute s{number} ({arguments})" if arguments else f"execute s{number}"
            explained = await connection.fetchval(f"explain (analyze, format json) {call}")
            [found] = json.loads(explained)
            total.add(found["Plan"])
            total.milliseconds += found["Execution Time"]
    finally:
        await connection.close()
    return total


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool() | int():
            return str(value)
        case bytes():
            return f"'\\x{value.hex()}'"
        case datetime():
            return f"'{value.isoformat()}'"
        case list() | tuple():
            return f"array[{', '.join(map(_literal, value))}]::text[]"
        case _:
            text = str(value).replace("'", "''")
            return f"'{text}'"
