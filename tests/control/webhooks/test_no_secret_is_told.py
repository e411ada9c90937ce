"""The secrets of an endpoint stand in no log, event, audit row, delivery log or error, come what may."""

import base64
from collections.abc import Iterator

import pytest
import structlog
from structlog.typing import EventDict

from stead.control.webhooks import service
from tests.matrix.dump import rows_mentioning
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Received, Receiver, answer, saying

DOMAIN = {"domain": "example.com"}


@pytest.fixture
def overheard() -> Iterator[list[EventDict]]:
    with structlog.testing.capture_logs() as events:
        yield events


def _forms(secret: str) -> list[str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return [secret, secret.removeprefix("whsec_"), key.hex(), secret.encode().hex()]


async def _everything_read(person: Person, endpoint: str) -> str:
    """All that the API tells afterwards."""
    paths = (
        *("/v1/events", "/v1/notifications", "/v1/account/audit", "/v1/webhook-endpoints"),
        *(f"/v1/webhook-endpoints/{endpoint}", f"/v1/webhook-endpoints/{endpoint}/deliveries"),
    )
    return "".join([(await person.session.get(path)).text for path in paths])


async def test_not_even_a_receiver_that_sends_them_back_gets_them_written_down(
    outbox: Outbox,
    person: Person,
    receiver: Receiver,
    overheard: list[EventDict],
    capfd: pytest.CaptureFixture[str],
):
    endpoint = await outbox.endpoint(person, receiver.url)
    where = f"/v1/webhook-endpoints/{endpoint['id']}"
    rolled = (await person.session.post(f"{where}/roll")).json()["data"]
    secrets = [endpoint["secret"], rolled["secret"]]

    async def echo(_: Received) -> bytes:
        return answer(500, " ".join([*secrets, *(each[6:] for each in secrets)]).encode())

    answers = []
    for behave in (
        echo,
        saying(b"HTTP/1.1 500 " + secrets[0].encode() + b"\r\nconnection: close\r\n\r\n"),
        saying(answer(410)),
    ):
        receiver.behave = behave
        await outbox.publish("deploy.failed", account_id=person.id, data={**DOMAIN, "reason": "x"})
        await outbox.deliver()
        answers.append(await _everything_read(person, endpoint["id"]))
    for path, body in ((where, {"url": secrets[0]}), (where, {"event_types": [secrets[1]]})):
        answers.append((await person.session.patch(path, json=body)).text)
    said = repr(overheard) + "".join(capfd.readouterr()) + "".join(answers)
    assert "webhooks.endpoint_disabled" in said
    forms = [form for secret in secrets for form in _forms(secret)]
    assert [form for form in forms if form in said] == []
    async with outbox.plane.database.reading() as tx:
        assert await rows_mentioning(tx, forms) == set()


async def test_a_secret_that_does_not_open_is_a_failed_delivery_and_no_more(
    outbox: Outbox, person: Person, receiver: Receiver, overheard: list[EventDict]
):
    """As after the installation's key was lost, or a row was moved to another endpoint."""
    first = await outbox.endpoint(person, receiver.url, "site.restarted")
    second = await outbox.endpoint(person, receiver.url, "site.restarted")
    await outbox.run(
        "update webhook_endpoints w set secret = o.secret from webhook_endpoints o"
        " where w.id = $1 and o.id = $2",
        *(first["id"], second["id"]),
    )
    await outbox.publish("site.restarted", account_id=person.id, data=DOMAIN)
    await outbox.deliver()
    assert len(receiver.got) == 1
    (broken,) = await outbox.deliveries(person, first["id"])
    assert (broken["status"], broken["last_error"]) == ("pending", "It cannot be sent: SealBroken.")
    sealed = service.seal(outbox.sealer, second["id"], second["secret"])
    assert service.unseal(outbox.sealer, second["id"], sealed) == second["secret"]
    assert second["secret"] not in repr(overheard)


async def test_a_signature_is_no_secret_but_is_not_kept_either(
    outbox: Outbox, person: Person, receiver: Receiver
):
    await outbox.endpoint(person, receiver.url, "site.restarted")
    await outbox.publish("site.restarted", account_id=person.id, data=DOMAIN)
    await outbox.deliver()
    (got,) = receiver.got
    signature = got.headers["api-signature"].partition("v1=")[2]
    async with outbox.plane.database.reading() as tx:
        assert await rows_mentioning(tx, [signature]) == set()
