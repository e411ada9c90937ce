"""The secrets of an endpoint never appear in logs, events, audit entries, delivery logs or errors."""

import base64
from collections.abc import Iterator

import pytest
import structlog
from structlog.typing import EventDict

from stead.control.webhooks import service
from tests.matrix.dump import rows_mentioning
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import ReceivedRequest, Receiver, http_response, respond_with

DOMAIN = {"domain": "example.com"}


@pytest.fixture
def logged() -> Iterator[list[EventDict]]:
    with structlog.testing.capture_logs() as events:
        yield events


def _forms(secret: str) -> list[str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return [secret, secret.removeprefix("whsec_"), key.hex(), secret.encode().hex()]


async def _read_everything(person: Person, endpoint: str) -> str:
    """Everything that the API returns about the endpoint afterwards."""
    paths = (
        *("/v1/events", "/v1/notifications", "/v1/account/audit", "/v1/webhook-endpoints"),
        *(f"/v1/webhook-endpoints/{endpoint}", f"/v1/webhook-endpoints/{endpoint}/deliveries"),
    )
    return "".join([(await person.session.get(path)).text for path in paths])


async def test_secrets_that_a_receiver_sends_back_are_not_stored(
    outbox: Outbox,
    person: Person,
    receiver: Receiver,
    logged: list[EventDict],
    capfd: pytest.CaptureFixture[str],
):
    endpoint = await outbox.endpoint(person, receiver.url)
    where = f"/v1/webhook-endpoints/{endpoint['id']}"
    rolled = (await person.session.post(f"{where}/roll")).json()["data"]
    secrets = [endpoint["secret"], rolled["secret"]]

    async def echo(_: ReceivedRequest) -> bytes:
        return http_response(500, " ".join([*secrets, *(each[6:] for each in secrets)]).encode())

    answers = []
    for responder in (
        echo,
        respond_with(b"HTTP/1.1 500 " + secrets[0].encode() + b"\r\nconnection: close\r\n\r\n"),
        respond_with(http_response(410)),
    ):
        receiver.respond = responder
        await outbox.publish("deploy.failed", account_id=person.id, data={**DOMAIN, "reason": "x"})
        await outbox.deliver()
        answers.append(await _read_everything(person, endpoint["id"]))
    for path, body in ((where, {"url": secrets[0]}), (where, {"event_types": [secrets[1]]})):
        answers.append((await person.session.patch(path, json=body)).text)
    output = repr(logged) + "".join(capfd.readouterr()) + "".join(answers)
    assert "webhooks.endpoint_disabled" in output
    forms = [form for secret in secrets for form in _forms(secret)]
    assert [form for form in forms if form in output] == []
    assert await rows_mentioning(outbox.plane.database, forms) == set()


async def test_a_secret_that_cannot_be_decrypted_fails_only_its_own_delivery(
    outbox: Outbox, person: Person, receiver: Receiver, logged: list[EventDict]
):
    """As after the loss of the installation's key, or if a row is moved to another endpoint."""
    first = await outbox.endpoint(person, receiver.url, "site.restarted")
    second = await outbox.endpoint(person, receiver.url, "site.restarted")
    await outbox.run(
        "update webhook_endpoints w set secret = o.secret from webhook_endpoints o"
        " where w.id = $1 and o.id = $2",
        *(first["id"], second["id"]),
    )
    await outbox.publish("site.restarted", account_id=person.id, data=DOMAIN)
    await outbox.deliver()
    assert len(receiver.requests) == 1
    (broken,) = await outbox.deliveries(person, first["id"])
    assert (broken["status"], broken["last_error"]) == ("pending", "It cannot be sent: SealBroken.")
    sealed = service.seal(outbox.sealer, second["id"], second["secret"])
    assert service.unseal(outbox.sealer, second["id"], sealed) == second["secret"]
    assert second["secret"] not in repr(logged)


async def test_signatures_are_not_stored(outbox: Outbox, person: Person, receiver: Receiver):
    await outbox.endpoint(person, receiver.url, "site.restarted")
    await outbox.publish("site.restarted", account_id=person.id, data=DOMAIN)
    await outbox.deliver()
    (request,) = receiver.requests
    signature = request.headers["api-signature"].partition("v1=")[2]
    assert await rows_mentioning(outbox.plane.database, [signature]) == set()
