import asyncio

from stead.node.ssh.signals import PacedSignals
from tests.node.harness import until


async def test_a_flood_of_signals_is_one_signal_and_kill_comes_through():
    sent: list[str] = []
    slow = asyncio.Event()

    async def send(name: str) -> None:
        sent.append(name)
        await slow.wait()

    signals = PacedSignals(send)
    for _ in range(1000):
        signals.add("INT")
        signals.add("SEGV")
        await asyncio.sleep(0)
    signals.add("KILL")
    signals.add("USR1")
    assert sent == ["INT"]
    slow.set()

    async def both() -> bool | None:
        return len(sent) > 1 or None

    await until(both)
    assert sent == ["INT", "KILL"]
    signals.close()
