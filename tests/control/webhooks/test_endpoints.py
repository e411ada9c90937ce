"""Creating, reading, changing and deleting endpoints."""

import base64
from typing import Any

import pytest

from stead.control.features import event_catalog
from stead.control.http.principal import Pin
from tests import teams
from tests.client import code_of
from tests.matrix.dump import rows_mentioning
from tests.outbox import Outbox
from tests.people import EVERY_SCOPE

URL = "https://hooks.example.com/stead"


async def test_an_endpoint_is_created_read_changed_and_deleted(outbox: Outbox):
    person = await outbox.person()
    made = await outbox.endpoint(person, URL, "deploy.completed", description="for the chat")
    path = f"/v1/webhook-endpoints/{made['id']}"
    shown = {name: value for name, value in made.items() if name != "secret"}
    assert (await person.session.get(path)).json()["data"] == shown
    assert (await person.session.get("/v1/webhook-endpoints")).json()["data"] == [shown]
    change = {"url": "https://other.example.com:8443/x?y=z", "event_types": ["*"], "description": None}
    changed = (await person.session.patch(path, json=change)).json()["data"]
    assert changed == {**shown, **change}
    assert (await person.session.delete(path)).status_code == 204
    assert code_of(await person.session.get(path)) == "webhook_endpoint.not_found"
    assert (await person.session.get("/v1/webhook-endpoints")).json()["data"] == []


async def test_an_endpoint_subscribes_to_all_events_by_default(outbox: Outbox):
    person = await outbox.person()
    made = await person.session.post("/v1/webhook-endpoints", json={"url": URL})
    assert made.json()["data"]["event_types"] == ["*"]
    assert made.json()["data"]["enabled"] is True


async def test_the_secret_is_shown_once_and_stored_encrypted(outbox: Outbox):
    person = await outbox.person()
    made = await outbox.endpoint(person, URL)
    path = f"/v1/webhook-endpoints/{made['id']}"
    rolled = (await person.session.post(f"{path}/roll")).json()["data"]
    secrets = [made["secret"], rolled["secret"]]
    for secret in secrets:
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert len(set(secrets)) == 2
    for response in (
        await person.session.get(path),
        await person.session.get("/v1/webhook-endpoints"),
        await person.session.patch(path, json={"enabled": True}),
    ):
        assert "whsec_" not in response.text
    await outbox.number_events()
    as_hex = [base64.b64decode(secret.removeprefix("whsec_")).hex() for secret in secrets]
    forms = [*secrets, *(secret.removeprefix("whsec_") for secret in secrets), *as_hex]
    assert await rows_mentioning(outbox.plane.database, forms) == set()


@pytest.mark.parametrize(
    "chosen", [["*"], ["deploy.completed"], ["category:security", "job.failed"]], ids=str
)
async def test_an_endpoint_can_subscribe_to_types_and_categories(outbox: Outbox, chosen: list[str]):
    person = await outbox.person()
    assert (await outbox.endpoint(person, URL, *chosen, *chosen))["event_types"] == chosen


@pytest.mark.parametrize("chosen", ["deploy.nothing", "category:nothing", "category:", "", "**", "deploy.*"])
async def test_an_unknown_event_type_is_refused(outbox: Outbox, chosen: str):
    person = await outbox.person()
    made = await person.session.post("/v1/webhook-endpoints", json={"url": URL, "event_types": ["*", chosen]})
    assert code_of(made) == "request.field_invalid"
    assert made.json()["error"]["param"] == "event_types.1"


async def test_the_number_of_endpoints_is_limited(outbox: Outbox):
    person = await outbox.person()
    for _ in range(50):  # of the plan
        made = await outbox.endpoint(person, URL)
    refused = await person.session.post("/v1/webhook-endpoints", json={"url": URL})
    assert code_of(refused) == "quota.webhook_endpoints"
    await person.session.delete(f"/v1/webhook-endpoints/{made['id']}")
    await outbox.endpoint(person, URL)


async def test_a_key_sees_only_endpoints_of_its_pin_and_mode(outbox: Outbox):
    person = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        _, pinned = await teams.insert_key(tx, person.id, EVERY_SCOPE, pin=Pin("site", site))
        _, other = await teams.insert_key(tx, person.id, EVERY_SCOPE, pin=Pin("site", "site_x"))
        _, test = await teams.insert_key(tx, person.id, EVERY_SCOPE, mode="test")
    clients = [person.session, *(outbox.anonymous.as_(secret) for secret in (pinned, other, test))]
    ids = [(await outbox.endpoint(client, URL))["id"] for client in clients]
    seen = [await _listed(client) for client in clients]
    assert seen == [set(ids), {ids[1]}, {ids[2]}, {ids[3]}]


async def _listed(client: Any) -> set[str]:
    return {each["id"] for each in (await client.get("/v1/webhook-endpoints")).json()["data"]}


async def test_event_types_are_listed_with_a_schema_and_an_example(outbox: Outbox):
    person = await outbox.person()
    listed = (await person.session.get("/v1/webhook-endpoints/event-types")).json()["data"]["event_types"]
    assert [each["type"] for each in listed] == list(event_catalog())
    for each in listed:
        assert each["schema"]["type"] == "object"
        assert set(each["schema"].get("required", [])) <= set(each["example"])
        assert "additionalProperties" not in each["schema"]


async def test_older_api_versions_list_event_types_too(outbox: Outbox):
    person = await outbox.person()
    headers = {"api-version": "2026-06-26"}
    assert (await person.session.get("/v1/webhook-endpoints/event-types", headers=headers)).status_code == 200
