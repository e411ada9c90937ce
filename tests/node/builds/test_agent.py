"""Builds by a command to a real agent, which may be killed during the build."""

from stead.node.builds.workspaces import container_prefix
from stead.node.containers import cgroups
from stead.node.containers.disks import mounted_below
from stead.protocol import subjects
from stead.protocol.commands import Cancel, Command, read_heartbeat
from stead.protocol.work.builds import Build, BuildResult
from tests.faults.jobs.holding_node import holds_of, reached_of
from tests.faults.jobs.node import HOLDING, write_lines
from tests.node.builds.build_harness import BuildHarness, environment_of, processes_with_argument
from tests.node.builds.projects import package
from tests.node.harness import NodeHarness, until

BOUND = 120.0
SECRET = "canary-of-a-secret"


def endless(argument: str) -> dict[str, str]:
    return {"package.json": package(build="sh build.sh"), "build.sh": f"echo $TOKEN\nsleep {argument}\n"}


def started(here: NodeHarness, bench: BuildHarness, name: str) -> tuple[Command, Build]:
    here.start(**environment_of(bench.settings()))
    wanted = bench.wanted(bench.git(name), TOKEN=SECRET)
    return here.command(wanted, driver="live"), wanted


async def seen(argument: str) -> None:
    async def look() -> bool | None:
        return bool(processes_with_argument(argument)) or None

    await until(look, BOUND)


def assert_nothing_is_left(here: NodeHarness) -> None:
    home = here.data / "builds"
    assert cgroups.find(container_prefix(home)) == set()
    assert list(mounted_below(home)) == []
    assert list((home / "workspaces").glob("*")) == list((home / "runc").glob("*")) == []


async def test_heartbeats_list_the_builders_of_a_node(here: NodeHarness, bench: BuildHarness) -> None:
    heard = await here.operator.subscribe(subjects.heartbeat(here.node.id))
    here.start(**environment_of(bench.settings()))
    beat = read_heartbeat((await heard.next_msg(timeout=30)).data)
    assert beat.builders == ("cms", "static", "wasm")
    assert await here.stop() == 0
    here.start(STEAD_IMAGES="/nowhere", **environment_of(bench.settings()))
    beat = read_heartbeat((await heard.next_msg(timeout=30)).data)
    assert beat.builders == ()
    assert "builds.unavailable" in here.log


async def test_a_cancel_ends_every_process_of_a_build(here: NodeHarness, bench: BuildHarness) -> None:
    bench.repositories.repository("cancelled-by-order", endless("86397"))
    order, _ = started(here, bench, "cancelled-by-order")
    await here.send(order)
    await seen("86397")
    await here.send(Cancel(here.node.id, order.job, order.step, order.epoch))
    assert (await here.result(order, bound=BOUND)).outcome == "cancelled"
    assert processes_with_argument("86397") == []
    assert_nothing_is_left(here)


async def test_a_node_killed_during_a_build_ends_the_leftover_processes_and_builds_again(
    here: NodeHarness, bench: BuildHarness
) -> None:
    bench.repositories.repository("restarted", endless("86396"))
    order, wanted = started(here, bench, "restarted")
    await here.send(order)
    await seen("86396")
    await here.kill()
    assert processes_with_argument("86396")
    commit = bench.repositories.repository(
        "restarted", {"build.sh": "echo again $TOKEN; mkdir dist; echo new > dist/index.html\n"}
    )
    here.start(**environment_of(bench.settings()))
    result = await here.result(order, bound=BOUND)
    assert result.outcome == "done"
    assert isinstance(result.value, BuildResult)
    assert result.value.commit == commit
    assert bench.layer(wanted) == {"index.html": b"new\n"}
    assert processes_with_argument("86396") == []
    assert_nothing_is_left(here)
    lines = await here.lines(order.job)
    assert any(line.endswith("build | again •••") for line in lines)
    assert not any(SECRET in line for line in lines)


async def test_a_node_killed_when_a_build_is_uploaded_and_not_recorded_builds_again_and_reports_once(
    here: NodeHarness, bench: BuildHarness
) -> None:
    bench.repositories.repository("uploaded", {"index.html": "the page"})
    wanted = bench.wanted(bench.git("uploaded"))
    order = here.command(wanted, driver="live")
    line = f"{order.job} {order.step}"
    reached_of(here.data).mkdir(parents=True)
    write_lines(holds_of(here.data) / "after", [line])
    here.start(agent=HOLDING, **environment_of(bench.settings()))
    await here.send(order)

    async def is_uploaded() -> bool | None:
        return (reached_of(here.data) / line).exists() or None

    await until(is_uploaded, BOUND)
    first = bench.layer(wanted)
    await here.kill()
    assert await here.results(order) == []
    here.start(**environment_of(bench.settings()))
    assert (await here.result(order, bound=BOUND)).outcome == "done"
    assert (len(await here.results(order)), here.carried_out(order)) == (1, 2)
    assert bench.layer(wanted) == first == {"index.html": b"the page"}
    assert_nothing_is_left(here)


async def test_a_build_whose_result_the_store_refuses_is_not_repeated(
    here: NodeHarness, bench: BuildHarness
) -> None:
    bench.repositories.repository("forbidden", {"index.html": "the page"})
    order, _ = started(here, bench, "forbidden")
    bench.store.uploads_forbidden = True
    try:
        await here.send(order)
        result = await here.result(order, bound=BOUND)
    finally:
        bench.store.uploads_forbidden = False
    assert (result.outcome, result.code) == ("refused", "internal")
    assert result.reason == "the result could not be stored: the object store answered 403"
    lines = await here.lines(order.job)
    assert sum("nothing to build" in line for line in lines) == 1
    assert_nothing_is_left(here)


async def test_a_failed_build_is_refused_once_with_its_reason(here: NodeHarness, bench: BuildHarness) -> None:
    bench.repositories.repository("failing", {"package.json": package(build="exit 3")})
    order, _ = started(here, bench, "failing")
    await here.send(order)
    result = await here.result(order, bound=BOUND)
    assert (result.outcome, result.code) == ("refused", "build.failed")
    assert result.reason == "npm run build ended with exit code 3"
    assert here.carried_out(order) == 1
    assert_nothing_is_left(here)
