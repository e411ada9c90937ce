"""A network that loses, repeats and delays: no effect twice, no request without an end, the right error."""

import time
from typing import Any

import pytest

from stead.control.http.operations import Operation
from stead.control.jobs import queue
from stead.shared.ids import new_id
from stead_sdk import errors
from tests.clients.callers import Caller
from tests.clients.fault_proxy import FaultProxy
from tests.clients.test_python_every_operation import method_of
from tests.contract.walk import OPERATIONS, path_values, request_of, url_of
from tests.patience import slowdown
from tests.people import PASSWORD, Person


async def teams(caller: Caller) -> list[str]:
    return [team.name for team in await caller.run(lambda client: client.teams.list())]


@pytest.mark.parametrize(
    "faults", [["429"], ["503"], ["429", "503"], ["refuse"], ["lose"], ["half"], ["twice"]]
)
async def test_a_creation_happens_once(proxied: Caller, proxy: FaultProxy, faults: list[str]):
    proxy.then(*faults)
    made = await proxied.run(lambda client: client.teams.create(name="once"))
    assert await teams(proxied) == ["once"]
    assert made.team_id.startswith("team_")
    sent = {key for key in proxy.keys if key}
    assert len(sent) == 1, "every attempt has the same key"
    assert next(iter(sent)).startswith("stead-python-retry-")


@pytest.mark.parametrize("fault", ["lose", "half", "503"])
async def test_what_may_not_be_repeated_is_sent_once(proxied: Caller, proxy: FaultProxy, fault: str):
    made = await proxied.run(lambda client: client.teams.create(name="before"))
    proxy.then(fault)
    seen = proxy.seen
    with pytest.raises(errors.SteadError):
        await proxied.run(lambda client: client.teams.update(made.team_id, name="after"))
    assert proxy.seen == seen + 1


async def test_what_was_refused_before_it_began_is_repeated(proxied: Caller, proxy: FaultProxy):
    made = await proxied.run(lambda client: client.teams.create(name="before"))
    proxy.then("429")
    changed = await proxied.run(lambda client: client.teams.update(made.team_id, name="after"))
    assert changed.name == "after"


async def test_a_deletion_whose_response_is_lost_succeeds(proxied: Caller, proxy: FaultProxy):
    made = await proxied.run(lambda client: client.teams.create(name="short-lived"))
    proxy.then("lose")
    assert await proxied.run(lambda client: client.teams.delete(made.team_id)) is None
    assert await teams(proxied) == []
    with pytest.raises(errors.NotFound):
        await proxied.run(lambda client: client.teams.delete(made.team_id))


DELETING_JOBS = [each for each in OPERATIONS if each.method == "DELETE" and each.job is not None]


@pytest.mark.parametrize("operation", DELETING_JOBS, ids=[each.id for each in DELETING_JOBS])
async def test_a_deletion_that_queues_a_job_queues_one(
    proxied: Caller, proxy: FaultProxy, person: Person, operation: Operation
):
    values, options = await request_of(operation, person)
    proxy.then("lose")
    handle = await proxied.run(
        lambda client: method_of(client, operation)(*values.values(), **options.get("json", {}))
    )
    jobs = (await person.session.get("/v1/jobs")).json()["data"]
    assert [job["id"] for job in jobs if job["type"] in (operation.job or "").split("|")] == [handle.id]


async def test_any_deletion_that_queues_a_job_queues_one(proxied: Caller, proxy: FaultProxy, person: Person):
    """Also if the caller sends the request without a method for it."""
    [operation] = [each for each in DELETING_JOBS if each.id == "components.delete"]
    path = url_of(operation, await path_values(operation, person))
    proxy.then("lose")
    response = await proxied.run(lambda client: client.request("DELETE", path))
    jobs = (await person.session.get("/v1/jobs")).json()["data"]
    assert [job["id"] for job in jobs] == [response.json()["data"]["id"]]


async def test_a_sign_in_is_not_repeated(proxied: Caller, proxy: FaultProxy, person: Person):
    """Operations without a credential ignore the key."""
    proxy.then("lose")
    body = {"email": person.account.email, "password": PASSWORD}
    with pytest.raises(errors.APIConnectionError):
        await proxied.run(lambda client: client.request("POST", "/v1/sessions", body=body))
    assert proxy.seen == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [("429", errors.RateLimited), ("503", errors.ServerFault), ("refuse", errors.APIConnectionError)],
)
async def test_a_fault_that_lasts_is_reported(
    proxied: Caller, proxy: FaultProxy, fault: str, error: type[Exception]
):
    proxy.always = fault
    with pytest.raises(error):
        await proxied.run(lambda client: client.account.get())
    assert proxy.seen == 3


async def test_a_server_that_asks_for_a_long_wait_is_not_waited_for(proxied: Caller, proxy: FaultProxy):
    proxy.always, proxy.retry_after = "503", "3600"
    with pytest.raises(errors.ServerFault):
        await proxied.run(lambda client: client.account.get())
    assert proxy.seen == 1


async def test_a_response_that_does_not_come_ends_the_request(proxied: Caller, proxy: FaultProxy):
    proxy.always = "stall"
    began = time.monotonic()
    with pytest.raises(errors.APITimeoutError):
        await proxied.run(lambda client: client.with_options(timeout=0.5, max_retries=1).account.get())
    assert time.monotonic() - began < 20 * slowdown()
    assert proxy.seen == 2


async def test_an_address_that_nobody_answers_is_reported(flavor: str):
    nobody = Caller(flavor, "key", base_url="http://127.0.0.1:1", max_retries=0)
    with pytest.raises(errors.APIConnectionError, match="cannot be reached"):
        await nobody.run(lambda client: client.account.get())


async def begin_a_job(caller: Caller) -> Any:
    """Nothing runs it here: it stays queued."""
    domain = f"{new_id('d').replace('_', '-')}.example.com"
    return await caller.run(lambda client: client.sites.create(domain=domain, profile="static"))


async def test_a_job_that_fails_raises_its_error(direct: Caller, person: Person):
    handle = await begin_a_job(direct)
    async with person.transaction() as tx:
        row = await queue.get(tx, handle.id)
        assert row is not None
        await queue.finish(tx, row, {"code": "job.cancelled", "message": "It was cancelled."})
    with pytest.raises(errors.JobFailed, match="It was cancelled") as failed:
        await direct.run(lambda _: handle.wait(timeout=30))
    assert failed.value.code == "job.cancelled"


async def test_a_stream_that_never_begins_ends_with_an_error(
    proxied: Caller, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
):
    handle = await begin_a_job(proxied)
    package = "_sync" if proxied.flavor == "blocking" else "_async"
    # Shorter than what ships: waits between attempts grow to seconds.
    monkeypatch.setattr(f"stead_sdk.{package}.jobs._MOST_FAILURES", 3)
    proxy.always = "refuse"
    with pytest.raises(errors.APIConnectionError):
        await proxied.run(lambda _: handle.events())


async def test_waiting_survives_an_outage(
    proxied: Caller, proxy: FaultProxy, person: Person, monkeypatch: pytest.MonkeyPatch
):
    handle = await begin_a_job(proxied)
    async with person.transaction() as tx:
        row = await queue.get(tx, handle.id)
        assert row is not None
        await queue.finish(tx, row, {"code": "job.cancelled", "message": "It was cancelled."})
    proxy.then("refuse", "503", "429", "refuse", "lose")
    with pytest.raises(errors.JobFailed, match="It was cancelled"):
        await proxied.run(lambda _: handle.wait(timeout=60))
    package = "_sync" if proxied.flavor == "blocking" else "_async"
    monkeypatch.setattr(f"stead_sdk.{package}.jobs._LONGEST_OUTAGE", 1.0)
    proxy.always = "refuse"
    with pytest.raises(errors.APIConnectionError):
        await proxied.run(lambda _: handle.wait())


async def test_waiting_ends_in_time_while_the_network_is_silent(proxied: Caller, proxy: FaultProxy):
    handle = await begin_a_job(proxied)
    proxy.always = "silent"
    began = time.monotonic()
    with pytest.raises(errors.JobTimeout):
        await proxied.run(lambda _: handle.wait(timeout=0.5))
    assert time.monotonic() - began < 15, "one attempt with the timeout of the client takes 20 seconds"


async def test_a_stream_that_stays_silent_is_given_up(
    proxied: Caller, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
):
    """However long each attempt takes: a connection that is never opened has not worked for a while."""
    handle = await begin_a_job(proxied)
    package = "_sync" if proxied.flavor == "blocking" else "_async"
    monkeypatch.setattr(f"stead_sdk.{package}.jobs._MOST_FAILURES", 3)
    monkeypatch.setattr(f"stead_sdk.{package}.jobs._LONGEST_WAIT", 0.3)
    quick = proxied.client.with_options(timeout=0.5)
    for fault in ("silent", "hush"):
        proxy.always, proxy.seen = fault, 0
        with pytest.raises(errors.APITimeoutError):
            await proxied.run(lambda _: quick.jobs.stream(handle.id))
        assert proxy.seen == 3


async def test_an_event_of_a_later_version_is_not_output(proxied: Caller, proxy: FaultProxy):
    handle = await begin_a_job(proxied)
    proxy.then("unknown")
    events = await proxied.run(lambda _: handle.events())
    assert [(event.kind, event.line) for event in events] == [("output", "a line"), ("done", None)]


@pytest.mark.parametrize("fault", ["page", "redirect"])
async def test_something_else_at_the_address_is_reported(proxied: Caller, proxy: FaultProxy, fault: str):
    proxy.always = fault
    with pytest.raises(errors.APIConnectionError, match="Is the address that of the Stead API"):
        await proxied.run(lambda client: client.account.get())
    assert proxy.seen == 1


async def test_a_job_that_is_not_over_in_time_goes_on(direct: Caller):
    handle = await begin_a_job(direct)
    with pytest.raises(errors.JobTimeout) as late:
        await direct.run(lambda _: handle.wait(timeout=0.3))
    assert late.value.job.id == handle.id
