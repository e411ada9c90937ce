"""What the functions of all sites of a node share: no site takes all of it."""

import asyncio
import os
import tempfile
import threading
from collections import Counter
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from msgspec.structs import replace

from stead.node.containers import cgroups
from stead.node.containers.limits import first_uid
from stead.node.containers.names import LOOKUPS_AT_ONCE, LimitedNames
from stead.node.functions import bindings, places
from stead.node.functions.body_room import BodyRoom, HeldBody
from stead.node.functions.capacity import Capacity, RunningWorker
from stead.node.functions.container import SLOT
from stead.node.functions.driver import prepare_directories
from stead.node.functions.host import MOST_HIDDEN, choose_hidden
from stead.node.functions.log_files import BYTES_BURST, LogFiles
from stead.node.functions.process_messages import read_message
from stead.node.functions.process_room import LOOKS_PER_CHECK, ProcessRoom
from stead.node.functions.served_version import ServedVersion
from stead.node.functions.serving import Serving
from stead.shared.address_policy import Address
from stead.shared.ids import new_id
from tests.node.functions.hosting import Hosting, binding, hosting
from tests.node.functions.modules import SLEEP, answering, calling, module
from tests.node.functions.test_log_files import SPEC
from tests.node.harness import until
from tests.patience import time_limit

CAPACITY = Capacity(of_node=6, of_site=4, site_memory_mb=300)


def _worker(
    number: int, site: str, *, tenant: str = "", idle: bool = True, memory_mb: int = 64, busy: float = 0.0
) -> RunningWorker:
    """The one with the smallest number has not been used for longest. Its site is its tenant, unless told."""
    return RunningWorker(number, tenant or site, site, memory_mb, float(number), idle, busy)


def _busy(tenants: str, seconds: float = 2.0) -> list[RunningWorker]:
    """A busy process of each tenant that is named, in sites of their own, the first one for longest."""
    return [
        _worker(number, f"site_{number}", tenant=tenant, idle=False, busy=seconds + len(tenants) - number)
        for number, tenant in enumerate(tenants, 1)
    ]


def test_a_site_that_has_its_share_of_processes_ends_an_idle_one_of_its_own() -> None:
    own = [_worker(3, "a"), _worker(1, "a", idle=False), _worker(2, "a"), _worker(4, "a")]
    assert CAPACITY.decide("a", "a", 10, [*own, _worker(0, "b")]) == (True, [2])
    assert CAPACITY.decide("b", "b", 10, [*own, _worker(0, "b")]) == (True, [])


def test_a_site_whose_processes_are_all_busy_waits_and_others_do_not() -> None:
    busy = [_worker(number, "a", idle=False) for number in range(4)]
    assert CAPACITY.decide("a", "a", 10, busy) == (False, [])
    assert CAPACITY.decide("b", "b", 64, busy) == (True, [])


def test_a_site_has_its_share_of_memory_and_always_one_process() -> None:
    large = [_worker(1, "a", idle=False, memory_mb=256)]
    assert CAPACITY.decide("a", "a", 64, large) == (False, [])
    assert CAPACITY.decide("a", "a", 44, large) == (True, [])
    assert CAPACITY.decide("a", "a", 512, []) == (True, [])


def test_a_full_node_ends_the_process_that_was_idle_for_longest() -> None:
    every = [_worker(number, site) for number, site in enumerate("bcbcbc")]
    assert CAPACITY.decide("a", "a", 64, every) == (True, [0])
    busy = [_worker(number, site, idle=False) for number, site in enumerate("bcbcbc")]
    assert CAPACITY.decide("a", "a", 64, busy) == (False, [])


def test_a_tenant_with_less_than_its_share_gets_a_busy_process_of_the_one_that_has_most() -> None:
    assert CAPACITY.decide("new", "a", 64, _busy("mmmmom")) == (True, [1])
    # Each of three tenants may have two. Others are not touched, and a short request is finished first.
    assert CAPACITY.decide("o", "a", 64, _busy("mmommm")) == (True, [1])
    assert CAPACITY.decide("new", "a", 64, _busy("mmmmmm", seconds=-6)) == (False, [])
    starting = [_worker(0, "b", tenant="m", idle=False) for _ in range(6)]
    assert CAPACITY.decide("new", "a", 64, starting) == (False, [])


def test_a_tenant_with_its_share_waits_however_many_sites_it_has() -> None:
    assert CAPACITY.decide("m", "a", 64, _busy("mmmmmo")) == (False, [])
    assert CAPACITY.decide("m", "a", 64, _busy("mmmooo")) == (False, [])
    assert CAPACITY.decide("m", "a", 64, _busy("mmmmmm")) == (False, [])
    # Nor do two that have their shares take processes from each other.
    (taken,) = CAPACITY.decide("o", "a", 64, _busy("mmmmoo"))[1]
    left = [each for each in _busy("mmmmoo") if each.number != taken]
    assert CAPACITY.decide("m", "a", 64, [*left, _worker(9, "a", tenant="o", idle=False)]) == (False, [])


def test_a_tenant_with_more_than_its_share_ends_no_idle_process_of_a_smaller_one() -> None:
    """Its next visitor would wait for another one to start."""
    neighbour = _worker(9, "n", tenant="n")
    assert CAPACITY.decide("m", "a", 64, [*_busy("mmmmm"), neighbour]) == (False, [])
    own = _worker(8, "m", tenant="m")
    assert CAPACITY.decide("m", "a", 64, [*_busy("mmmm"), own, neighbour]) == (True, [8])
    # One with less than its share ends those of larger ones, and then the one that was idle for longest.
    longest = _worker(1, "n", tenant="n")
    assert CAPACITY.decide("new", "a", 64, [*_busy("mmmm")[1:], own, longest, neighbour]) == (True, [8])
    assert CAPACITY.decide("new", "a", 64, [*_busy("mmmmm")[1:], longest, neighbour]) == (True, [1])


def test_a_tenant_whose_processes_start_slowly_leaves_a_place_to_others() -> None:
    starting = [_worker(0, f"site_{number}", tenant="m", idle=False) for number in range(4)]
    neighbour = _worker(9, "n", tenant="n", idle=False)
    assert CAPACITY.decide("m", "a", 64, starting) == (True, [])
    assert CAPACITY.decide("m", "a", 64, [*starting, neighbour]) == (False, [])
    assert CAPACITY.decide("new", "a", 64, [*starting, neighbour]) == (True, [])
    # One that is alone on its node may have all of it.
    assert CAPACITY.decide("m", "a", 64, [*starting, _worker(0, "b", tenant="m", idle=False)]) == (True, [])


async def test_a_visitor_is_served_while_another_tenant_uses_all_processes() -> None:
    sites = [{"site": f"site_many_{number}", "tenant": "many"} for number in range(3)]
    async with hosting(Path(tempfile.mkdtemp(prefix="stead-fn-")), most_workers=3) as host:
        new = await host.serve(answering(), site="site_new", tenant="new", start=False)
        slow = [await host.serve(SLEEP, start=False, wall_ms=20_000, **about) for about in sites]
        asking = [asyncio.create_task(host.ask(spec)) for spec in slow]

        async def all_are_busy() -> bool | None:
            served = [host.serving._versions[spec.version] for spec in slow]
            workers = [worker for each in served for worker in each.workers.values()]
            return len([worker for worker in workers if worker.busy_seconds]) == 3 or None

        await until(all_are_busy)
        seen = await host.ask(new)
        assert seen is not None
        assert seen.status == 200
        async with time_limit(10):
            ended, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in ended] == [None]
        reported = [told["reason"] for _, told in host.reports]
        assert reported == ["function_stopped"]
        for task in asking:
            task.cancel()
        await asyncio.wait(asking)


async def test_many_versions_of_a_tenant_that_wait_for_room_do_not_keep_the_host_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them looks at all processes of the node. Those of others find room as fast as before."""
    looks = Counter[str]()

    def look(_: ProcessRoom, wanted: ServedVersion) -> bool:
        looks[wanted.spec.tenant] += 1
        return False

    async def answer(*_: object) -> dict[str, Any]:
        raise AssertionError("nothing asks")

    monkeypatch.setattr(ProcessRoom, "make_room", look)
    prepare_directories(tmp_path)
    serving = Serving(tmp_path, answer, lambda *_: None, most_workers=1)
    for tenant, count in (("many", 40), ("few", 1)):
        for number in range(count):
            about = {"version": new_id("fnv"), "site": f"{tenant}_{number % 8}", "tenant": tenant}
            serving.serve(replace(SPEC, **about), {}, 1)
    probing = [asyncio.create_task(serving.probe(version)) for version in serving.versions]
    async with time_limit(60):
        while looks["few"] < 21:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)
    # Each of the many has looked when it came.
    assert looks["many"] - 40 <= 2 * LOOKS_PER_CHECK * (looks["few"] - 1)
    for task in probing:
        task.cancel()
    await asyncio.wait(probing)
    serving.close()


async def test_messages_of_a_site_wait_for_room_and_those_of_others_do_not() -> None:
    room = BodyRoom(total=400_000, each=200_000)
    held = HeldBody(room, "a")
    assert held.grow(150_000)
    assert not held.grow(100_000)
    waiting = asyncio.create_task(_pass_through(room, "a", 100_000))
    async with time_limit(10):
        await _pass_through(room, "b", 150_000)
        await _pass_through(room, "a", 1000)
    assert not waiting.done()
    held.release()
    async with time_limit(10):
        await waiting
    assert HeldBody(room, "a").grow(200_000)


async def _pass_through(room: BodyRoom, site: str, size: int) -> None:
    async with room.hold(site, size):
        pass


async def test_a_lookup_that_nobody_waits_for_still_counts() -> None:
    """Its thread is in use until the name server answers."""
    answered = threading.Event()

    async def look_up(*_: object) -> list[Address]:
        await asyncio.to_thread(answered.wait)
        return [ip_address("192.0.2.1")]

    names = LimitedNames(look_up)
    asking = [asyncio.create_task(names("slow.example", 443)) for _ in range(LOOKUPS_AT_ONCE)]
    await asyncio.sleep(0)
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)
    late = asyncio.create_task(names("other.example", 443))
    done, _ = await asyncio.wait({late}, timeout=0.1)
    assert not done
    answered.set()
    async with time_limit(10):
        assert await late == [ip_address("192.0.2.1")]


async def test_a_site_fetches_a_limited_number_of_times(host: Hosting) -> None:
    spec = await host.serve(
        answering(), site="site_f", bindings=(binding("fetch", "WEB", allow=("a.example",)),)
    )
    question = {"url": "https://not-listed.example.com/"}
    told = await asyncio.gather(
        *(host.call_host(spec, "fetch", question) for _ in range(bindings.FETCHES_BURST + 50))
    )
    codes = [each["error"]["code"] for each in told]
    assert codes[0] == "fetch.refused"
    assert "fetch.rate_limited" in codes
    other = await host.serve(answering(), site="site_g")
    assert (await host.call_host(other, "fetch", question))["error"]["code"] == "fetch.refused"


async def test_what_a_compromised_process_says_ends_only_itself(host: Hosting) -> None:
    """It may send anything to the host."""
    spec = await host.serve(answering(), site="site_h")
    bad: list[dict[str, Any]] = [
        {"left_ms": "soon", "arg": {}},
        {"left_ms": None, "arg": {}},
        {"arg": 7},
        {"left_ms": 1e400, "arg": {"url": ["x"]}},
    ]
    for question in bad:
        told = await host.bindings.answer(spec, {"op": "fetch", **question})
        assert told["error"]["code"] in ("request.invalid", "fetch.refused", "time.exhausted")


async def test_a_process_reports_a_limited_amount(host: Hosting) -> None:
    """All of them are read by one process."""
    spec = await host.serve(calling("log", {"text": "x" * 60_000}, times=1), site="site_i")
    for _ in range(60):
        assert await host.ask(spec) is not None
    reported = sum(
        len(line) for version, told in host.reports if version == spec.version for line in told["log"]
    )
    assert 0 < reported < 60 * 60_000


def test_a_message_does_not_become_large_in_the_host() -> None:
    """Whatever a process sends: a million lists in a megabyte would be a hundred megabytes."""
    nested = b"[" + b"[]," * 300_000 + b"[]]"
    told = read_message(b'{"op":"kv.put","arg":{"key":"a","value":' + nested + b'},"more":' + nested + b"}")
    assert told == {"op": "kv.put", "arg": None}
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises((msgspec.MsgspecError, RecursionError)):
        read_message(b'{"op":"kv.put","log":' + deep + b"}")
    arg = {"url": "https://a.example", "headers": [["a", "b"]], "limit": 1, "body": "grün", "ttl": None}
    told = read_message(msgspec.json.encode({"op": "fetch", "arg": arg, "left_ms": 12, "log": ["a"]}))
    assert told == {
        "op": "fetch",
        "arg": {**arg, "headers": [("a", "b")]},
        "left_ms": 12,
        "log": ["a"],
    }


async def test_a_process_cannot_shorten_the_memory_that_it_shares(host: Hosting) -> None:
    """Reading it would end the host of all functions."""
    spec = await host.serve(answering(), site="site_j")
    (worker,) = host.serving._versions[spec.version].workers.values()
    assert worker.activity is not None
    with pytest.raises((OSError, ValueError)):
        worker.activity._memory.resize(0)
    assert worker.activity.read() == (0, 0)


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ({"binding": "STORE", "key": "a", "value": "x", "junk": [[[]]] * 1000}, ""),
        ({"binding": "STORE", "key": ["a"], "value": {}}, ""),
        ({"binding": "STORE", "key": "\ud800", "value": "\udfff"}, ""),
        ({"binding": "STORE", "headers": [["a", "b"]] * 1000}, ""),
    ],
)
async def test_only_flat_arguments_reach_the_host(
    argument: dict[str, object], reason: str, host: Hosting
) -> None:
    bound = (binding("kv", "STORE", namespace="mine"),)
    spec = await host.serve(calling("kv.put", argument), site="site_k", bindings=bound, wall_ms=10_000)
    seen = await host.ask(spec)
    assert seen is not None
    assert (seen.status, seen.reason) == (200, reason)
    assert all(isinstance(value, str | int) for *_, arg in host.questions for value in arg.values())


def test_functions_of_a_site_log_a_limited_amount(tmp_path: Path) -> None:
    prepare_directories(tmp_path)
    logs, line = LogFiles(tmp_path), "x" * 64_000
    for _ in range(2 * BYTES_BURST // len(line)):
        logs.write(SPEC, {"log": [line]}, ())
    assert not logs._sizes.take(SPEC.site)


def test_a_secret_of_several_lines_is_hidden(tmp_path: Path) -> None:
    prepare_directories(tmp_path)
    secret = 'first line\nsecond "line" \\ and more'
    LogFiles(tmp_path).write(SPEC, {"log": [f"the key is {secret}!"]}, ("first", secret))
    written = places.log_file(tmp_path, SPEC.function).read_text()
    assert "the key is [secret]!" in written
    assert "line" not in written


def test_a_secret_that_was_replaced_is_still_hidden() -> None:
    """Processes that began with it may still run."""
    assert choose_hidden(["new secret", "ab"], ["old secret"]) == ("new secret", "old secret")
    many = [f"secret {number}" for number in range(MOST_HIDDEN)]
    assert choose_hidden(["the newest"], many)[:2] == ("the newest", "secret 0")
    assert len(choose_hidden(["the newest"], many)) == MOST_HIDDEN


BUSY_WHEN_ASKED = module(
    # A request with content counts to sixty million.
    "(if (i32.gt_u (local.get $length) (i32.const 5000))"
    " (then (global.set $n (i32.const 60000000)) (loop $l"
    " (global.set $n (i32.sub (global.get $n) (i32.const 1))) (br_if $l (global.get $n)))))"
    " (call $packed (i32.const 1024) (i32.const 2))",
    more="(global $n (mut i32) (i32.const 0))",
    data='(data (i32.const 1024) "{}")',
)


async def test_a_long_request_gets_what_others_leave_and_the_next_short_one_does_not(host: Hosting) -> None:
    spec = await host.serve(BUSY_WHEN_ASKED, site="site_l", wall_ms=20_000)
    uid = first_uid(SLOT) + host.serving._versions[spec.version].uid

    def policies() -> set[int]:
        own = cgroups.processes(host.cgroup)
        running = [each for each in psutil.process_iter(["uids"]) if each.pid in own and each.info["uids"]]
        (process,) = [each for each in running if each.info["uids"].real == uid]
        return {os.sched_getscheduler(thread.id) for thread in process.threads()}

    ordinary, lower = {os.SCHED_OTHER}, {os.SCHED_OTHER, os.SCHED_IDLE}
    assert policies() == ordinary
    for size, wanted in ((6000, lower), (6000, lower), (0, ordinary), (0, ordinary)):
        seen = await host.ask(spec, body=b"x" * size)
        assert seen is not None
        assert seen.status == 200

        async def have_changed(wanted: set[int] = wanted) -> bool | None:
            return policies() == wanted or None

        await until(have_changed)
