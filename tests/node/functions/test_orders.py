"""An order to the host of functions ends with the agent's interest in it, and leaves nothing that runs."""

import asyncio
import os
from collections.abc import Coroutine
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from stead.node.containers import cgroups
from stead.node.functions import places
from stead.node.functions.control_link import HostAnswer, HostOrder, send_order, serve_orders
from stead.node.functions.sandbox.worker import COMPILE_NICENESS
from stead.node.functions.served_version import FunctionRefused
from tests.node.functions.hosting import Hosting
from tests.node.functions.modules import answering, module
from tests.node.harness import until
from tests.patience import time_limit

ORDER = HostOrder("ensure", "fnv_1")
NEVER_STARTS = module("unreachable", more='(func (export "_initialize") (loop $l (br $l)))')


@cache
def compiling_slowly() -> bytes:
    """A function with much code."""
    multiplied = f"{'(i32.mul ' * 200}(local.get 0){' (local.get 0))' * 200}"
    return answering(
        more="".join(
            f'(func (export "f{number}") (param i32) (result i32) {multiplied})' for number in range(4000)
        )
    )


async def test_an_order_that_is_cancelled_is_cancelled_in_the_host(tmp_path: Path) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def obey(_: HostOrder) -> HostAnswer:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError("it waits for ever")

    async with await serve_orders(tmp_path / "control.sock", obey):
        sending = asyncio.create_task(send_order(tmp_path / "control.sock", ORDER))
        async with time_limit(10):
            await began.wait()
            sending.cancel()
            await ended.wait()


async def test_an_order_is_answered_after_it_was_obeyed(tmp_path: Path) -> None:
    async def obey(order: HostOrder) -> HostAnswer:
        await asyncio.sleep(0.01)
        return HostAnswer(ok=False, reason=order.version)

    async with await serve_orders(tmp_path / "control.sock", obey), time_limit(10):
        answer = await send_order(tmp_path / "control.sock", ORDER)
    assert answer == HostAnswer(ok=False, reason=ORDER.version)


async def test_a_compiler_leaves_the_processor_to_visitors(host: Hosting) -> None:
    lowered = min(os.nice(0) + COMPILE_NICENESS, 19)
    compiling = asyncio.create_task(host.serve(compiling_slowly(), site="site_nice"))

    async def has_low_priority() -> bool | None:
        own = cgroups.processes(host.cgroup)
        running = [each for each in psutil.process_iter(["nice"]) if each.pid in own]
        return lowered in {each.info["nice"] for each in running} or None

    await until(has_low_priority)
    assert not compiling.done()
    compiling.cancel()
    await asyncio.wait({compiling})


async def test_compiling_that_is_cancelled_leaves_no_process_and_no_file(host: Hosting) -> None:
    await _cancel_in_process(host, host.serve(compiling_slowly(), site="site_cancelled"))
    assert not list((places.home(host.data) / "compiled").glob(".fnv_*"))


async def test_a_module_that_cannot_be_compiled_leaves_no_file(host: Hosting) -> None:
    before = set((places.home(host.data) / "compiled").iterdir())
    try:
        await host.serve(b"\0asm\1\0\0\0 no module", site="site_cancelled")
    except FunctionRefused:
        pass
    else:
        raise AssertionError("it was compiled")
    assert set((places.home(host.data) / "compiled").iterdir()) == before


async def test_starting_that_is_cancelled_leaves_no_process(host: Hosting) -> None:
    spec = await host.serve(NEVER_STARTS, site="site_cancelled", start=False)
    await _cancel_in_process(host, host.serving.probe(spec.version))
    assert not host.serving._process_room.starting
    assert not host.serving._versions[spec.version].workers


async def _cancel_in_process(host: Hosting, work: Coroutine[Any, Any, object]) -> None:
    """Cancel it as soon as it has started a process, and wait until that has ended."""
    before = set(host.serving._processes._running)
    doing = asyncio.ensure_future(work)

    async def started() -> set[int] | None:
        return set(host.serving._processes._running) - before or None

    (process,) = await until(started)
    doing.cancel()
    await asyncio.wait({doing})
    assert doing.cancelled()

    async def ended() -> bool | None:
        return process not in host.serving._processes._running or None

    await until(ended)
