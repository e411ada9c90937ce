"""A canary in every secret place: it must turn up in no log line and in no answer."""

import io
import json
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
import pytest

from stead.control.accounts import service
from stead.control.accounts.schema import SignIn
from stead.control.app import ControlPlane
from stead.control.http.access_log import AccessLog
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from tests.client import Client, code_of
from tests.control.accounts.conftest import Mailbox
from tests.people import PASSWORD, Person

CANARY = f"canary {uuid4()} sings"


@pytest.fixture
def lines() -> io.BytesIO:
    return io.BytesIO()


@pytest.fixture
async def loud(
    settings: Settings, plane: ControlPlane, clock: MovableClock, lines: io.BytesIO, network: str
) -> AsyncIterator[Client]:
    """A visitor of a control plane that writes its access log where the test can read it."""
    mine = ControlPlane(settings, clock=clock, access_log=AccessLog(lines))
    async with mine.running():
        transport = httpx.ASGITransport(mine, client=(f"{network}::1", 1))
        yield Client(transport=transport, base_url="http://stead.test")
    assert b'"request"' in lines.getvalue()


def assert_untold(canary: str, *places: str) -> None:
    for place in places:
        assert canary not in place
        assert json.dumps(canary)[1:-1] not in place


async def test_a_password_is_told_nowhere(
    loud: Client,
    person: Person,
    email: str,
    mailbox: Mailbox,
    lines: io.BytesIO,
    capfd: pytest.CaptureFixture[str],
):
    session = loud.as_(person.session.headers["authorization"].removeprefix("Bearer "))
    new = {"email": email, "password": CANARY, "name": "Ada"}
    answers = [await loud.post("/v1/accounts", json=new)]
    token = await mailbox.token(email)
    answers.append(await loud.post("/v1/accounts/verify-email", json={"token": token, "password": CANARY}))
    bodies = [
        ("/v1/accounts", {"email": email, "password": CANARY, "name": "Ada"}),
        ("/v1/accounts", {"email": "nobody", "password": CANARY, "name": "Ada"}),
        ("/v1/accounts", {"email": email, "password": [CANARY], "name": "Ada"}),
        ("/v1/accounts", {"email": email, "password": CANARY * 10, "name": "Ada"}),
        ("/v1/sessions", {"email": email, "password": CANARY}),
        ("/v1/sessions", {"email": email, "password": CANARY + "!"}),
        ("/v1/sessions", {"email": CANARY, "password": PASSWORD}),
        ("/v1/sessions", {"email": email, "password": {"is": CANARY}}),
    ]
    answers += [await loud.post(path, json=body) for path, body in bodies]
    answers.append(await loud.post("/v1/sessions", content=f'{{"password": "{CANARY}", '))
    answers += [
        await session.patch("/v1/account", json=body)
        for body in (
            {"new_password": CANARY, "current_password": CANARY},
            {"new_password": CANARY},
            {"new_password": [CANARY], "current_password": PASSWORD},
            {"current_password": CANARY * 10},
            {"new_password": CANARY, "current_password": PASSWORD},
        )
    ]
    assert [answer.status_code for answer in answers] == [
        201, 204, 201, 400, 400, 400, 201, 401, 401, 400, 400, 403, 400, 400, 400, 204,
    ]  # fmt: skip
    told = capfd.readouterr()
    assert_untold(
        CANARY, told.out, told.err, lines.getvalue().decode(), *[each.text for each in answers],
        *[str(each.headers) for each in answers],
    )  # fmt: skip


async def test_a_bearer_secret_is_told_nowhere_but_once(
    loud: Client, person: Person, lines: io.BytesIO, capfd: pytest.CaptureFixture[str]
):
    session = loud.as_(person.session.headers["authorization"].removeprefix("Bearer "))
    minted = (await session.post("/v1/api-keys", json={"scopes": ["account:read"]})).json()["data"]
    key = loud.as_(minted["secret"])
    answers = [
        await key.get("/v1/account"),
        await key.post("/v1/api-keys", json={}),
        await key.get("/v1/account", params={"access_token": minted["secret"]}),
        await loud.as_(minted["secret"][:-1]).get("/v1/account"),
        await loud.as_(minted["secret"] + "x").get("/v1/account"),
        await loud.get("/v1/account", headers={"authorization": f"Basic {minted['secret']}"}),
    ]
    assert [answer.status_code for answer in answers] == [200, 403, 200, 401, 401, 401]
    told = capfd.readouterr()
    chance = minted["secret"].removeprefix("stead_live_")[:30]
    assert_untold(chance, told.out, told.err, lines.getvalue().decode(), *[each.text for each in answers])


async def test_an_unforeseen_error_does_not_tell_what_it_was_about(
    loud: Client,
    lines: io.BytesIO,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    async def fail(_tx: object, attempt: SignIn, _client: object) -> None:
        raise RuntimeError(f"cannot cope with {attempt.password}")

    monkeypatch.setattr(service, "sign_in", fail)
    answer = await loud.post("/v1/sessions", json={"email": "a@example.com", "password": CANARY})
    assert (answer.status_code, code_of(answer)) == (500, "internal")
    told = capfd.readouterr()
    assert_untold(CANARY, told.out, told.err, answer.text, lines.getvalue().decode())
    assert "request.fault" in told.out + told.err
    assert answer.json()["request_id"] in told.out + told.err
