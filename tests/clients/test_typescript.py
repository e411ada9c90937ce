"""The TypeScript client: types, every operation, and a network that loses, repeats and delays."""

import asyncio
import shutil
import signal
import subprocess
from typing import Any

import pytest

from stead.control.http.operations import Operation
from stead.control.jobs import queue
from stead.shared.ids import new_id
from tests.clients.fault_proxy import FaultProxy
from tests.clients.typescript import PACKAGE, Node, TypeScriptError, build, node, run_tool, runtimes
from tests.contract.walk import OPERATIONS, each, request_of, required_filters
from tests.patience import slowdown, time_limit
from tests.people import Person


def test_it_is_strictly_typed_and_agrees_with_another_generator():
    made = run_tool(
        "openapi-typescript",
        *("../../openapi/v1.json", "--output", "test/oracle.d.ts"),
        *("--default-non-nullable=false", "--empty-objects-unknown"),
    )
    assert made.returncode == 0, made.stderr
    checked = run_tool("tsc", "-p", "tsconfig.test.json")
    assert checked.returncode == 0, checked.stdout


def test_it_depends_on_nothing():
    assert '"dependencies"' not in (PACKAGE / "package.json").read_text()


def test_what_needs_another_clock_or_another_server():
    build()
    node_program = shutil.which("node")
    assert node_program is not None
    tested = subprocess.run(
        [node_program, "--test", "test/behaviour.test.mjs"],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        timeout=120 * slowdown(),
        check=False,
    )
    assert tested.returncode == 0, tested.stdout


async def test_every_operation_can_be_called(api: str, new_person: Any, subtests: pytest.Subtests):
    """In one process: each operation with data that it succeeds with."""
    async with node(api, "") as client:
        for operation in _OPERATIONS:
            with subtests.test(operation.id):
                await _call(client, operation, await new_person())


_OPERATIONS: list[Operation] = [
    operation
    for operation in each(lambda operation: operation.response_kind != "stream").args[1]
    if isinstance(operation, Operation)
]


async def _call(client: Node, operation: Operation, person: Person) -> None:
    values, options = await request_of(operation, person)
    query = required_filters(operation)
    given = [*values.values(), *([options["json"]] if "json" in options else [query] if query else [])]
    found = await client.call(operation.id, *given, apiKey=session_of(person))
    if operation.response_kind == "none":
        assert found is None
    elif operation.response_kind == "list":
        assert isinstance(found, list)
    elif operation.response_kind == "job":
        assert found["id"].startswith("job_")
    else:
        assert isinstance(found, dict)


def session_of(person: Person) -> str:
    return str(person.session.headers["authorization"]).removeprefix("Bearer ")


async def test_it_works_in_other_runtimes(proxy: FaultProxy, new_person: Any, subtests: pytest.Subtests):
    for runtime in runtimes():
        with subtests.test(runtime):
            person = await new_person()
            async with node(proxy.address, await person.secret(), runtime=runtime) as client:
                proxy.then("lose", "503")
                made = await client.call("teams.create", {"name": "once"})
                assert [team["name"] for team in await client.call("teams.list")] == ["once"]
                assert await client.call("teams.delete", made["team_id"]) is None
                with pytest.raises(TypeScriptError) as gone:
                    await client.call("teams.get", made["team_id"])
                assert "NotFound" in gone.value.classes
                proxy.then("stall")
                with pytest.raises(TypeScriptError) as ended:
                    await client.call("account.get", abortAfter=300)
                assert "AbortedError" in ended.value.classes


@pytest.mark.parametrize("faults", [["429"], ["503"], ["refuse"], ["lose"], ["half"], ["twice"]])
async def test_a_creation_happens_once(proxy: FaultProxy, person: Person, faults: list[str]):
    async with node(proxy.address, await person.secret()) as client:
        proxy.then(*faults)
        made = await client.call("teams.create", {"name": "once"})
        assert made["team_id"].startswith("team_")
        assert [team["name"] for team in await client.call("teams.list")] == ["once"]
    [key] = {key for key in proxy.keys if key}
    assert key.startswith("stead-typescript-retry-"), "every attempt has the same key"


@pytest.mark.parametrize("fault", ["lose", "half", "503"])
async def test_what_may_not_be_repeated_is_sent_once(proxy: FaultProxy, person: Person, fault: str):
    async with node(proxy.address, await person.secret()) as client:
        made = await client.call("teams.create", {"name": "before"})
        proxy.then(fault)
        seen = proxy.seen
        with pytest.raises(TypeScriptError):
            await client.call("teams.update", made["team_id"], {"name": "after"})
        assert proxy.seen == seen + 1


async def test_a_deletion_whose_response_is_lost_succeeds(proxy: FaultProxy, person: Person):
    async with node(proxy.address, await person.secret()) as client:
        made = await client.call("teams.create", {"name": "short-lived"})
        proxy.then("lose")
        assert await client.call("teams.delete", made["team_id"]) is None
        with pytest.raises(TypeScriptError) as gone:
            await client.call("teams.delete", made["team_id"])
        assert "NotFound" in gone.value.classes


@pytest.mark.parametrize("id_", ["sites.delete", "components.delete"])
async def test_a_deletion_that_queues_a_job_queues_one(proxy: FaultProxy, person: Person, id_: str):
    [operation] = [each for each in OPERATIONS if each.id == id_]
    values, options = await request_of(operation, person)
    given = [*values.values(), *([options["json"]] if "json" in options else [])]
    async with node(proxy.address, await person.secret()) as client:
        proxy.then("lose")
        made = await client.call(id_, *given)
    jobs = (await person.session.get("/v1/jobs")).json()["data"]
    assert [job["id"] for job in jobs if job["type"] == made["type"]] == [made["id"]]


@pytest.mark.parametrize("fault", ["page", "redirect"])
async def test_something_else_at_the_address_is_reported(proxy: FaultProxy, person: Person, fault: str):
    async with node(proxy.address, await person.secret()) as client:
        proxy.always = fault
        with pytest.raises(TypeScriptError, match="Is the address that of the Stead API"):
            await client.call("account.get")
        assert proxy.seen == 1


async def test_an_event_of_a_later_version_is_not_output(proxy: FaultProxy, person: Person):
    async with node(proxy.address, await person.secret()) as client:
        proxy.then("unknown")
        events = await client.call("jobs.stream", "job_" + "0" * 26)
    assert [(event["kind"], event.get("line")) for event in events] == [("output", "a line"), ("done", None)]


@pytest.mark.parametrize(
    ("fault", "error"), [("429", "RateLimited"), ("503", "ServerFault"), ("refuse", "ConnectionError")]
)
async def test_a_fault_that_lasts_is_reported(proxy: FaultProxy, person: Person, fault: str, error: str):
    async with node(proxy.address, await person.secret()) as client:
        proxy.always = fault
        with pytest.raises(TypeScriptError) as thrown:
            await client.call("account.get")
        assert error in thrown.value.classes
        assert proxy.seen == 3


async def test_a_response_that_does_not_come_ends_the_request(proxy: FaultProxy, person: Person):
    async with node(proxy.address, await person.secret(), timeout_ms=500) as client:
        proxy.always = "stall"
        with pytest.raises(TypeScriptError) as late:
            await client.call("account.get")
        assert "TimeoutError" in late.value.classes


async def test_the_caller_can_end_a_request(proxy: FaultProxy, person: Person):
    async with node(proxy.address, await person.secret()) as client:
        proxy.always = "stall"
        asking = asyncio.create_task(client.call("account.get", abortAfter="SIGUSR2"))
        async with time_limit(30):
            while not proxy.seen:  # noqa: ASYNC110 - the proxy announces nothing
                await asyncio.sleep(0.01)
        client.process.send_signal(signal.SIGUSR2)
        with pytest.raises(TypeScriptError) as ended:
            await asking
        assert "AbortedError" in ended.value.classes
        assert proxy.seen == 1


async def test_an_error_says_what_happened(api: str, person: Person):
    async with node(api, await person.secret()) as client:
        with pytest.raises(TypeScriptError) as unknown:
            await client.call("sites.get", "site_" + "0" * 26)
        assert (unknown.value.code, unknown.value.thrown["status"]) == ("site.not_found", 404)
        assert unknown.value.thrown["requestId"].startswith("req_")
        with pytest.raises(TypeScriptError) as wrong:
            await client.call("teams.create", {"name": ""})
        assert wrong.value.thrown["param"] == "name"


async def test_pages_are_read_as_they_are_needed(api: str, person: Person):
    names = {f"team {number}" for number in range(5)}
    for name in names:
        await person.session.post("/v1/teams", json={"name": name})
    async with node(api, await person.secret()) as client:
        assert {team["name"] for team in await client.call("teams.list", {"limit": 2})} == names


@pytest.mark.parametrize("faults", [[], ["pass", "refuse", "503", "429", "refuse", "lose"]])
async def test_a_job_that_fails_throws_its_error(proxy: FaultProxy, person: Person, faults: list[str]):
    """Also after an outage. Nothing runs it here: it stays queued until the test ends it."""
    wanted = {"domain": f"{new_id('d').replace('_', '-')}.example.com", "profile": "static"}
    proxy.then(*faults)
    async with node(proxy.address, await person.secret()) as client:
        waiting = asyncio.create_task(client.call("sites.create", wanted, job="wait"))
        async with time_limit(30):
            while not (jobs := (await person.session.get("/v1/jobs")).json()["data"]):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        async with person.transaction() as tx:
            row = await queue.get(tx, jobs[0]["id"])
            assert row is not None
            await queue.finish(tx, row, {"code": "job.cancelled", "message": "It was cancelled."})
        with pytest.raises(TypeScriptError, match="It was cancelled") as failed:
            await waiting
        assert ("JobFailed" in failed.value.classes, failed.value.code) == (True, "job.cancelled")
