"""Asks for the state of functions, in a real JetStream."""

from typing import Any

from stead.control.functions.state import FunctionState
from stead.protocol.function_state import StateQuestion


class Clock:
    """A clock that a test can move."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Keeper:
    """Asks for the state of one environment."""

    def __init__(self, kept: FunctionState, environment: str) -> None:
        self.state, self.environment = kept, environment

    async def ask(self, op: Any, namespace: str = "book", **arg: Any) -> Any:
        question = StateQuestion("node-1", "q", "site_1", self.environment, "fn_1", namespace, op, arg)
        return await self.state.answer(question)

    async def get(self, op: Any, **arg: Any) -> Any:
        told = await self.ask(op, **arg)
        assert "ok" in told, told
        return told["ok"]

    async def code(self, op: Any, **arg: Any) -> str:
        return str((await self.ask(op, **arg))["error"]["code"])
