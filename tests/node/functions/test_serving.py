"""How versions of functions are served: processes, instances, settings, and what passes between them."""

import asyncio
import json

import msgspec

from stead.node.functions import places
from tests.node.functions import modules
from tests.node.functions.hosting import Hosting, binding
from tests.node.functions.modules import answering, module
from tests.node.harness import until
from tests.patience import time_limit

COUNTER = module(
    "(global.set $count (i32.add (global.get $count) (i32.const 1)))"
    " (i32.store8 (i32.const 1046) (i32.add (i32.const 48) (i32.rem_u (global.get $count) (i32.const 10))))"
    " (call $packed (i32.const 1024) (i32.const 25))",
    more="(global $count (mut i32) (i32.const 0))",
    data='(data (i32.const 1024) "{\\22status\\22:200,\\22body\\22:\\220\\22}")',
)
"""Counts the requests of an instance."""


async def test_a_function_gets_the_request_without_what_the_edge_adds_for_itself(host: Hosting) -> None:
    spec = await host.serve(modules.ECHO)
    seen = await host.ask(
        spec,
        "/path?query=1",
        body="grün".encode(),
        headers="X-Stead-Site: s\r\nX-Own: 1\r\nConnection: close\r\n",
    )
    assert seen is not None
    assert (seen.status, seen.body) == (200, "grün")
    assert (seen.headers["x-own"], seen.headers["host"]) == ("1", "a.example")
    assert {name for name in seen.headers if name.startswith("x-stead")} == {"x-stead-cpu", "x-stead-memory"}


async def test_bytes_pass_unchanged(host: Hosting) -> None:
    spec = await host.serve(modules.ECHO)
    path = places.socket_of(host.data, spec.version)
    reader, writer = await asyncio.open_unix_connection(str(path))
    sent = bytes(range(256)) * 10
    writer.write(f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent)
    received = await reader.read()
    writer.close()
    assert received.partition(b"\r\n\r\n")[2] == sent


async def test_an_instance_is_reused_within_a_version_and_never_shared_with_another(host: Hosting) -> None:
    first, second = await host.serve(COUNTER), await host.serve(COUNTER)
    bodies = []
    for spec in (first, first, second, first):
        seen = await host.ask(spec)
        assert seen is not None
        bodies.append(seen.body)
    assert bodies == ["1", "2", "1", "3"]


async def test_every_request_can_have_an_instance_of_its_own(host: Hosting) -> None:
    spec = await host.serve(COUNTER, fresh=True)
    answers = [await host.ask(spec) for _ in range(3)]
    assert [each and each.body for each in answers] == ["1", "1", "1"]


async def test_a_trap_leaves_nothing_of_the_instance(host: Hosting) -> None:
    """The next request finds a new one."""
    spec = await host.serve(modules.TRAP)
    for _ in range(3):
        seen = await host.ask(spec)
        assert seen is not None
        assert seen.reason == "function_trap"


async def test_a_request_starts_a_process_when_there_is_none(host: Hosting) -> None:
    spec = await host.serve(answering(body="awake"), start=False)
    seen = await host.ask(spec)
    assert seen is not None
    assert seen.body == "awake"


async def test_a_killed_process_is_replaced(host: Hosting) -> None:
    spec = await host.serve(answering(body="back"))
    await host.end_processes(spec.version)
    seen = None
    async with time_limit(30):
        while seen is None:
            seen = await host.ask(spec)
    assert seen.body == "back"


async def test_other_functions_answer_while_one_is_busy(host: Hosting) -> None:
    busy, idle = await host.serve(modules.LOOP, wall_ms=1000), await host.serve(answering())
    ended = asyncio.Event()

    async def keep_busy() -> None:
        while not ended.is_set():
            await host.ask(busy, within=60.0)

    loops = [asyncio.create_task(keep_busy()) for _ in range(3)]
    answers = [await host.ask(idle) for _ in range(20)]
    ended.set()
    await asyncio.wait(loops)
    assert {each and each.status for each in answers} == {200}


async def test_a_withdrawn_version_does_not_answer(host: Hosting) -> None:
    spec, other = await host.serve(answering()), await host.serve(answering(body="other"), start=False)
    served = host.serving._versions[spec.version]
    host.serving.withdraw(spec.version)
    assert not places.socket_of(host.data, spec.version).exists()

    async def has_ended() -> bool | None:
        return None if served in host.serving._process_room.running else True

    await until(has_ended)
    seen = await host.ask(other)
    assert seen is not None
    assert seen.body == "other"


async def test_functions_of_a_site_call_each_other(host: Hosting) -> None:
    target = await host.serve(answering(body="called"), site="site_s")
    bound = (binding("service", "OTHER", target=target.function),)
    caller = await host.serve(answering(), site="site_s", bindings=bound)
    question = {"binding": "OTHER", "url": "/"}
    told = await host.call_host(caller, "service.call", question)
    assert (told["ok"]["status"], told["ok"]["body"]) == (200, "called")
    stranger = msgspec.structs.replace(caller, site="site_t")
    told = await host.call_host(stranger, "service.call", question)
    assert told["error"]["code"] == "service.unavailable"


async def test_functions_that_call_each_other_share_their_time(host: Hosting) -> None:
    target = await host.serve(modules.LOOP, site="site_s", wall_ms=20_000)
    bound = (binding("service", "OTHER", target=target.function),)
    caller = await host.serve(answering(), site="site_s", bindings=bound)
    told = await host.call_host(caller, "service.call", {"binding": "OTHER", "url": "/"}, left_ms=300)
    assert "error" in told or told["ok"]["status"] == 503


async def test_secrets_are_given_to_their_function_only(host: Hosting) -> None:
    spec = await host.serve(answering(), secrets={"TOKEN": "canary-value"})
    other = await host.serve(answering())
    assert host.serving._versions[spec.version].settings()["variables"] == {"TOKEN": "canary-value"}
    assert "canary-value" not in json.dumps(host.serving._versions[other.version].settings())
    written = [path for path in host.data.rglob("*") if path.is_file() and path.stat().st_size < 1 << 20]
    assert not [path for path in written if b"canary-value" in path.read_bytes()]
