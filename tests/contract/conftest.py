"""What the walks share: two tenants, credentials that no longer work, visitors from nowhere in particular."""

from dataclasses import dataclass
from random import SystemRandom

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.shared import secrets
from tests.client import Client
from tests.conftest import NewPerson
from tests.people import Person


@pytest.fixture(scope="session")
async def owner(new_person: NewPerson) -> Person:
    """Whose resources are asked for. A test that may harm the account takes a fresh `person` instead."""
    return await new_person()


@pytest.fixture(scope="session")
async def stranger(new_person: NewPerson) -> Person:
    return await new_person()


@pytest.fixture
def visitor(plane: ControlPlane) -> Client:
    """Nobody, from an address of its own: what others tried before is not counted against it."""
    address = f"2001:db8:{SystemRandom().getrandbits(16):x}:{SystemRandom().getrandbits(16):x}::1"
    return Client(transport=httpx.ASGITransport(plane, client=(address, 1)), base_url="http://stead.test")


@dataclass(frozen=True)
class Spoiled:
    """An `Authorization` header that must not work, and why not."""

    header: str | None
    code: str
    expires: bool = False
    """It is good today and not in two days."""


SPOILED = (
    "missing",
    "not a bearer's",
    "without a secret",
    "mistyped",
    "unknown key",
    "unknown session",
    "revoked key",
    "ended session",
    "expired key",
    "expired session",
)


@pytest.fixture(scope="session")
async def spoiled(owner: Person, new_person: NewPerson, anonymous: Client) -> dict[str, Spoiled]:
    revoked = await owner.session.post("/v1/api-keys", json={"scopes": ["account:read"]})
    await owner.session.delete(f"/v1/api-keys/{revoked.json()['data']['id']}")
    signed_out = (await new_person()).session
    await signed_out.delete("/v1/sessions/current")
    secret = await owner.secret(expires_in_days=1)
    typo = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    good = owner.session.headers["authorization"]
    found = (
        Spoiled(None, "auth.missing"),
        Spoiled("Basic b3duZXI6cGFzc3dvcmQ=", "auth.malformed"),
        Spoiled("Bearer", "auth.malformed"),
        Spoiled(f"Bearer {typo}", "auth.malformed"),
        Spoiled(f"Bearer {secrets.mint('stead_live').text}", "auth.invalid"),
        Spoiled(f"Bearer {secrets.mint('stead_session').text}", "auth.invalid"),
        Spoiled(f"Bearer {revoked.json()['data']['secret']}", "auth.revoked"),
        Spoiled(signed_out.headers["authorization"], "auth.revoked"),
        Spoiled(f"Bearer {secret}", "auth.expired", expires=True),
        Spoiled(good, "auth.expired", expires=True),
    )
    return dict(zip(SPOILED, found, strict=True))
