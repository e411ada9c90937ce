"""`steadctl node`, except that a step can be held when it is done and nothing records yet that it is.

The file `holds/after` in the data directory has a line for each such step: its job and its name. The agent
creates `holds/reached/<line>` when it holds the step, and goes on when the line is gone.
"""

import asyncio
from pathlib import Path
from unittest.mock import patch

from stead.node import main as node
from stead.node.drivers import installed
from stead.node.drivers.driver import Assignment
from stead.node.drivers.driver_set import DriverSet
from stead.node.settings import from_environment
from stead.protocol.work.base import NodeWork
from stead.protocol.work.kinds import WorkResult

POLL = 0.1


def holds_of(data: Path) -> Path:
    return data / "holds"


def reached_of(data: Path) -> Path:
    return holds_of(data) / "reached"


class HoldingDriverSet(DriverSet):
    """Only `perform` differs. It does not return, so the journal still lists the step as running."""

    async def perform(self, work: NodeWork, task: Assignment) -> WorkResult | None:
        result = await super().perform(work, task)
        data, line = from_environment().data, f"{task.job} {task.step}"
        while line in _lines(holds_of(data) / "after"):
            (reached_of(data) / line).touch()
            await asyncio.sleep(POLL)
        return result


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except FileNotFoundError:
        return []


def main() -> None:
    with patch.object(installed, "DriverSet", HoldingDriverSet):
        node.run()


if __name__ == "__main__":
    main()
