"""Sample devices that wait for a person, for the suites that cover every operation."""

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from stead.control.accounts import service as accounts
from stead.control.devices import store
from stead.control.devices.rules import DeviceAuthorization, SessionRequired, new_user_code
from stead.control.devices.service import password_mark
from stead.control.engines.postgres import Tx
from stead.shared.ids import AccountId, new_id
from tests.feature_samples import Samples, Values
from tests.matrix.world import Caller, Flavour, World
from tests.people import Person
from tests.teams import DAY

if TYPE_CHECKING:
    from tests.matrix.rules import Expected


async def insert_device(tx: Tx, device_code: str, user_code: str | None = None) -> DeviceAuthorization:
    """One that waits."""
    new = DeviceAuthorization(
        id=new_id("dev"),
        user_code=user_code or new_user_code(),
        machine_name="a laptop",
        scopes=["sites:read"],
        network="203.0.113.7",
        status="pending",
        account_id=None,
        password_mark=None,
        key_id=None,
        redeemed_at=None,
        created_at=tx.now,
        expires_at=tx.now + DAY,
    )
    assert await store.insert(tx, new, sha256(device_code.encode()).digest())
    return new


async def insert_approved(tx: Tx, device_code: str, account: str) -> None:
    new = await insert_device(tx, device_code)
    found = await accounts.find(tx, AccountId(account))
    assert found is not None
    await store.decide(tx, new.id, found.id, password_mark(found), "approved")


async def _waiting(person: Person, _made: Values) -> str:
    async with person.transaction() as tx:
        return (await insert_device(tx, new_id("code"))).user_code


async def _approved(person: Person, _made: Values) -> dict[str, Any]:
    code = new_id("code")
    async with person.transaction() as tx:
        await insert_approved(tx, code, person.id)
    return {"device_code": code}


async def _make_things(tx: Tx, world: World) -> None:
    await insert_device(tx, new_id("code"), _user_code_of(world))
    await insert_approved(tx, f"device-of-{world.newcomer.id}", world.newcomer.id)


def _user_code_of(world: World) -> str:
    letters = "BCDFGHJKLMNPQRST"
    digest = sha256(world.newcomer.id.encode()).hexdigest()
    code = "".join(letters[int(each, 16)] for each in digest[:8])
    return f"{code[:4]}-{code[4:]}"


def _deciding(_world: World, caller: Caller, _flavour: Flavour) -> "Expected | None":
    from tests.matrix.rules import Expected

    if caller.kind == "session":
        return None
    return Expected(SessionRequired.status, SessionRequired.code)


SAMPLES = Samples(
    path_makers={"user_code": _waiting},
    body_makers={"device_authorizations.token": _approved},
    make_things=_make_things,
    path_ids={"user_code": lambda asking: _user_code_of(asking.world)},
    body_values={
        "DeviceTokenRequest.device_code": lambda asking: f"device-of-{asking.world.newcomer.id}",
    },
    more_expected={
        "device_authorizations.approve": _deciding,
        "device_authorizations.deny": _deciding,
    },
    silent_operations={
        "device_authorizations.approve": "the key publishes an event when the device collects it",
        "device_authorizations.deny": "nothing comes of it",
    },
)
