"""`stead fn deploy` and `stead fn logs`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from stead.control.engines.postgres import Tx
from stead.control.functions import service as functions
from tests.clients.fault_proxy import FaultProxy
from tests.clients.terminal import Done, Machine
from tests.patience import time_limit
from tests.people import Person
from tests.teams import insert_function, insert_function_artifact, insert_site

REASON = "The environment is locked."


@pytest.fixture
async def site(person: Person) -> str:
    async with person.transaction() as tx:
        found = await insert_site(tx, account=person.id)
        await tx.run("update sites set profile = 'wasm', runtime = 'wasm' where id = $1", found)
        return found


@pytest.fixture
async def machine(tmp_path: Path, proxy: FaultProxy, person: Person, site: str) -> Machine:
    variables = {"STEAD_BASE_URL": proxy.address, "STEAD_API_KEY": await person.secret(), "STEAD_SITE": site}
    return Machine(tmp_path, variables)


async def finish(tx: Tx, job: str, artifact: str) -> None:
    result = {"artifact_id": artifact}
    await tx.run("update jobs set status = 'succeeded', result = $2 where id = $1", job, result)


End = Callable[[Tx, str, str], Awaitable[None]]


async def deploy(machine: Machine, person: Person, site: str, end: End) -> Done:
    """Deploy a function that exists. `end` does what the last step of a build does."""
    async with person.transaction() as tx:
        function = await insert_function(tx, site, "hello")
        artifact = await insert_function_artifact(tx, function)
    return await run(machine, person, site, "hello.js", lambda tx: end(tx, function, artifact), artifact)


async def run(
    machine: Machine,
    person: Person,
    site: str,
    file: str,
    end: Callable[[Tx], Awaitable[None]],
    artifact: str,
) -> Done:
    (machine.work / file).write_text("a source")
    running = asyncio.create_task(asyncio.to_thread(machine.stead, "fn", "deploy", file, "--json"))
    query = "select id from jobs where site_id = $1 and type = 'build.run' and status = 'queued'"
    async with time_limit(60):
        while True:
            async with person.transaction() as tx:
                if (job := await tx.value(query, site)) is not None:
                    await finish(tx, job, artifact)
                    await end(tx)
                    break
            await asyncio.sleep(0.1)
    return await running


async def test_what_was_built_but_not_deployed_is_a_failure(machine: Machine, person: Person, site: str):
    async def refuse(tx: Tx, function: str, _: str) -> None:
        await functions.set_state(tx, function, "live", REASON)

    done = await deploy(machine, person, site, refuse)
    assert done.code == 3, done.out
    assert done.json["error"]["code"] == "function.not_deployed"
    assert REASON in done.json["error"]["message"]


async def test_the_deployment_of_the_build_is_followed(machine: Machine, person: Person, site: str):
    async def start(tx: Tx, function: str, artifact: str) -> None:
        job = await functions.enqueue_deployment(tx, await functions.get(tx, function), artifact)
        await finish(tx, job.job_id, artifact)

    done = await deploy(machine, person, site, start)
    assert done.code == 0, done.out
    assert done.json["slug"] == "hello"


async def test_a_new_function_has_the_language_of_its_file(machine: Machine, person: Person, site: str):
    async def leave(tx: Tx) -> None:
        assert await tx.value("select language from functions where site_id = $1", site) == "rust"

    done = await run(machine, person, site, "hello.rs", leave, "art_none")
    assert done.code == 3, "nothing was deployed"


def test_only_source_is_deployed(tmp_path: Path):
    machine = Machine(tmp_path, {"STEAD_BASE_URL": "http://127.0.0.1:1", "STEAD_API_KEY": "key"})
    (machine.work / "hello.wasm").write_bytes(b"\0asm\xff")
    done = machine.stead("fn", "deploy", "hello.wasm", "--site", "site_1")
    assert done.code == 2
    assert "source" in done.err


async def test_logs_are_those_of_functions(machine: Machine, proxy: FaultProxy):
    done = await asyncio.to_thread(machine.stead, "fn", "logs")
    assert done.code == 0, done.err
    assert "container=functions" in proxy.forwarded[-1].target
    assert (await asyncio.to_thread(machine.stead, "logs")).code == 0
    assert "container" not in proxy.forwarded[-1].target
