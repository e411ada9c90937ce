"""Shared by the tests of every operation: two tenants, invalid credentials, anonymous clients."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import SystemRandom

import httpx
import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.settings import Settings
from stead.dev.ports import reserve_ports
from stead.shared import secrets
from tests.client import Client
from tests.conftest import NewPerson
from tests.contract.api_process import serving
from tests.people import Person


@pytest.fixture(scope="session")
async def owner(new_person: NewPerson) -> Person:
    """The owner of the requested resources. A test that may damage the account uses a new `person`."""
    return await new_person()


@pytest.fixture(scope="session")
async def stranger(new_person: NewPerson) -> Person:
    return await new_person()


@pytest.fixture(scope="module")
def api(settings: Settings, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an API process. It believes what the tests say about their own address: limits per
    address do not end a test early."""
    port, metrics_port = reserve_ports(2)
    own = msgspec.structs.replace(
        settings, api_port=port, metrics_port=metrics_port, trusted_proxies="127.0.0.1"
    )
    log = tmp_path_factory.mktemp("api") / "log"
    with serving(own, log, "tests.contract.fuzzed_api") as address:
        yield address


@pytest.fixture
def visitor(plane: ControlPlane) -> Client:
    """A client without a credential, from a new address: no limit has counted requests of it."""
    address = f"2001:db8:{SystemRandom().getrandbits(16):x}:{SystemRandom().getrandbits(16):x}::1"
    return Client(transport=httpx.ASGITransport(plane, client=(address, 1)), base_url="http://stead.test")


@dataclass(frozen=True)
class Spoiled:
    """An `Authorization` header that must be refused, and the error code."""

    header: str | None
    code: str
    expires: bool = False
    """It is valid now, and expires within two days."""


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
