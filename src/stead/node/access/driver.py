"""Stores who may enter an environment over SSH, as the control plane orders it."""

from collections.abc import Sequence
from typing import Any

from stead.node.access.table import AccessTable
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Driver, Handler
from stead.protocol.work.access import SetAccess


class AccessDriver(Driver):
    def __init__(self, table: AccessTable) -> None:
        self._table = table

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(SetAccess, self.set_access)]

    async def set_access(self, task: Assignment, wanted: SetAccess) -> None:
        """An older list than the stored one is no error: the newer one is what the control plane wants."""
        self._table.replace(layout.check_identifier(task.environment), task.site, wanted)

    async def tidy(self) -> None:
        self._table.remove_old()
