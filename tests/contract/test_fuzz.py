"""Requests generated from our own API description and sent to a real API process.

Schemathesis generates them: the documented examples, the boundaries of every schema, and random inputs, the
same ones in every run. Every answer must be documented, have the documented shape and type, and never be a
5xx; a request that violates the description must be refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, cycle

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck
from hypothesis import settings as drawing
from schemathesis.checks import load_all_checks
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import positive_data_acceptance

from stead.control.accounts import store
from stead.control.app import ControlPlane
from stead.control.http.operations import Operation
from stead.control.settings import Settings
from stead.dev.ports import reserve_ports
from stead.shared import secrets
from stead.shared.ids import SessionId, has_shape, new_id
from tests.client import description
from tests.conftest import NewPerson
from tests.contract.api_process import serving
from tests.contract.walk import each, path_values

DRAWN = drawing(
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
SESSIONS = 500
RESOURCES = 20
EXCLUDED_CHECKS = [positive_data_acceptance]
"""A request that fits its schema may still be refused: for the cursor of another list, say."""


@pytest.fixture(scope="session")
def api(settings: Settings, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """It believes what the tests say about their address: limits per address do not end the walk early."""
    port, metrics_port = reserve_ports(2)
    own = msgspec.structs.replace(
        settings, api_port=port, metrics_port=metrics_port, trusted_proxies="127.0.0.1"
    )
    with serving(own, tmp_path_factory.mktemp("api") / "log") as address:
        yield address


@dataclass
class Caller:
    """One person with many sessions: when a request ends the one in use, the next takes over."""

    tokens: list[str]
    places: Iterator[dict[str, str]]
    """Path values that name something the person has."""
    connection: requests.Session = field(default_factory=requests.Session)
    addresses: Iterator[int] = field(default_factory=lambda: count(1))

    def headers(self) -> dict[str, str]:
        address = f"2001:db8:0:{next(self.addresses):x}::1"
        return {"Authorization": f"Bearer {self.tokens[-1]}", "X-Forwarded-For": address}

    def move_to_what_exists(self, case: schemathesis.Case) -> None:
        """Every other request whose identifiers are well-formed asks for something that is there."""
        values = case.path_parameters or {}
        if values and next(self.addresses) % 2:
            real = next(self.places)
            if all(has_shape(real[name].partition("_")[0], str(values[name])) for name in values):
                case.path_parameters = dict(real)

    def send(self, case: schemathesis.Case, api: str) -> None:
        self.move_to_what_exists(case)
        options = {"base_url": api, "session": self.connection}
        headers = self.headers()
        response = case.call(**options, headers=headers)
        if response.status_code == 401 and "auth.revoked" in response.text:
            self.tokens.pop()
            headers = self.headers()
            response = case.call(**options, headers=headers)
        case.validate_response(
            response,
            headers=headers,
            transport_kwargs={**options, "headers": headers},
            excluded_checks=EXCLUDED_CHECKS,
        )


@pytest.fixture
async def caller(plane: ControlPlane, new_person: NewPerson, operation: Operation) -> Caller:
    person = await new_person()
    minted = [secrets.mint("stead_session") for _ in range(SESSIONS)]
    async with plane.database.transaction() as tx:
        for secret in minted:
            await store.insert_session(tx, person.id, SessionId(new_id("sess")), secret.hash)
    wanted = RESOURCES if operation.path_parameters else 0
    places = [await path_values(operation, person) for _ in range(wanted)]
    return Caller([secret.text for secret in minted], cycle(places))


def schema_of(operation: Operation) -> BaseSchema:
    """The description of one path. Schemathesis copies the document: with every path it has 15 MB."""
    whole = description()
    schema = schemathesis.openapi.from_dict(
        {**whole, "paths": {operation.path: whole["paths"][operation.path]}}
    )
    schema.config.generation.update(with_security_parameters=False)
    refusals = schema.config.checks.negative_data_rejection
    # A list with one item too many may also make the body too large.
    refusals.expected_statuses = [*refusals.expected_statuses, "413"]
    return schema.include(operation_id=operation.id)


@each()
def test_every_answer_matches_the_description(operation: Operation, api: str, caller: Caller) -> None:
    """The requests are generated here and not by `schema.parametrize()`, which would generate those of every
    operation in every process that collects the tests, and keep them until it ends."""

    def send(case: schemathesis.Case) -> None:
        caller.send(case, api)

    load_all_checks()
    [made] = get_all_tests(schema=schema_of(operation), test_func=send, settings=DRAWN, given_kwargs=None)
    _, send_all = made.ok()
    send_all()
