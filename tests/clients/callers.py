"""Calls the blocking and the asyncio client of Python alike."""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from stead_sdk import AsyncStead, Stead

FLAVORS = ("blocking", "asyncio")


class Caller:
    def __init__(self, flavor: str, *args: Any, **options: Any) -> None:
        self.flavor = flavor
        self.client: Any = (Stead if flavor == "blocking" else AsyncStead)(*args, **options)

    async def run(self, call: Callable[[Any], Any]) -> Any:
        """What `call` returns for the client; of an iterable, its items."""
        if self.flavor == "blocking":
            return await asyncio.to_thread(lambda: _drained(call(self.client)))
        result = call(self.client)
        if inspect.isawaitable(result):
            result = await result
        return [each async for each in result] if hasattr(result, "__aiter__") else result


def _drained(result: Any) -> Any:
    lists = not isinstance(result, list | dict | str | tuple) and isinstance(result, Iterable)
    return list(result) if lists and not hasattr(result, "to_dict") else result
