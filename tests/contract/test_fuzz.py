"""Requests generated from our own API description and sent to a real API process.

Schemathesis generates them: the documented examples, the boundaries of every schema, and random inputs, other
ones in every run (`tests/seeds.py`). Every other request is made with an API key, the rest with a session.
Every answer must be documented, have the documented shape and type, and never be a 5xx; a request that
violates the description must be refused. `test_fuzz_pages.py` covers what the description does not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count, cycle
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, seed
from hypothesis import settings as drawing
from schemathesis import Case as AnyCase
from schemathesis.checks import CheckContext, CheckFunction, load_all_checks
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response as AnyResponse
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from stead.control.app import ControlPlane
from stead.control.http.operations import Operation
from stead.shared import secrets
from stead.shared.emails import PATTERN as EMAIL_PATTERN
from stead.shared.ids import has_shape, new_id
from tests import own_database
from tests.client import description
from tests.conftest import NewPerson
from tests.contract.walk import each, path_values
from tests.seeds import current_seed
from tests.selection.selection import current_selection

# It leaves thousands of sites.
settings, plane = own_database.settings, own_database.plane
anonymous, new_person = own_database.anonymous, own_database.new_person

Case = AnyCase[Any]
RANDOM, RANDOM_IN_A_SELECTION = 50, 20
"""Random requests for an operation. A selection of tests sends fewer of them, and other ones each time."""
DRAWN = drawing(
    max_examples=RANDOM_IN_A_SELECTION if current_selection() else RANDOM,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
SESSIONS = 500
KEYS = 5
RESOURCES = 20
EXCLUDED_CHECKS: list[CheckFunction] = [positive_data_acceptance, ignored_auth]
"""A request that fits its schema may still be refused: for the cursor of another list, say. Whether an
operation ignores credentials is checked by `Caller.check_credentials`."""


def _connection() -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # it would look for proxies in the environment before each request
    return session


@dataclass
class Caller:
    """One person with many sessions and keys: when a request ends the one in use, the next takes over."""

    sessions: list[str]
    keys: list[str]
    places: Iterator[dict[str, str]]
    """Path values that name resources of the person."""
    connection: requests.Session = field(default_factory=_connection)
    addresses: Iterator[int] = field(default_factory=lambda: count(1))
    turns: Iterator[int] = field(default_factory=count)
    confirmed: set[str] = field(default_factory=set)
    """Operations that have refused requests without credentials, and with wrong ones."""

    def credentials(self) -> list[str]:
        """The credentials whose turn it is. Few keys are needed: hardly any request revokes them."""
        return self.keys if self.keys and next(self.turns) % 2 else self.sessions

    def headers(self, credentials: list[str]) -> dict[str, str]:
        address = f"2001:db8:0:{next(self.addresses):x}::1"
        return {"Authorization": f"Bearer {credentials[-1]}", "X-Forwarded-For": address}

    def move_to_what_exists(self, case: Case) -> None:
        """Use existing identifiers in every other request with well-formed ones."""
        values = case.path_parameters or {}
        if values and next(self.addresses) % 2:
            real = next(self.places)
            if all(has_shape(real[name].partition("_")[0], str(values[name])) for name in values):
                case.path_parameters = dict(real)

    def send(self, case: Case, api: str) -> None:
        self.move_to_what_exists(case)
        options: dict[str, Any] = {"base_url": api, "session": self.connection}
        credentials = self.credentials()
        headers = self.headers(credentials)
        response = case.call(**options, headers=headers)
        if response.status_code == 401 and "auth.revoked" in response.text:
            credentials.pop()
            headers = self.headers(credentials or self.sessions)
            response = case.call(**options, headers=headers)
        case.validate_response(
            response,
            headers=headers,
            transport_kwargs={**options, "headers": headers},
            additional_checks=[self.check_credentials],
            excluded_checks=EXCLUDED_CHECKS,
        )

    def check_credentials(self, context: CheckContext, response: AnyResponse, case: Case) -> bool | None:
        """Repeat a request that succeeded without credentials, and with wrong ones. That takes longer than
        all other checks, and it is a property of the operation: once it has refused both, Schemathesis
        does not repeat it again."""
        context.auth_enforced_operations = self.confirmed
        result: bool | None = ignored_auth(context, response, case)
        return result


@pytest.fixture
async def caller(plane: ControlPlane, new_person: NewPerson, operation: Operation) -> Caller:
    person = await new_person()
    minted = [secrets.mint("stead_session") for _ in range(SESSIONS)]
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into sessions (id, account_id, secret_hash, created_at, last_used_at)"
            " select unnest($1::text[]), $2, unnest($3::bytea[]), $4, $4",
            *([new_id("sess") for _ in minted], person.id, [secret.hash for secret in minted], tx.now),
        )
    wanted = RESOURCES if operation.path_parameters else 0
    places = [await path_values(operation, person) for _ in range(wanted)]
    keys = [await person.secret() for _ in range(KEYS)]
    return Caller([secret.text for secret in minted], keys, cycle(places))


@cache
def _simplified() -> dict[str, Any]:
    """Without the greatest length of mail addresses. To find one of exactly that length, Schemathesis would
    draw hundreds from their pattern, for a minute. `test_accounts.py` sends one that is too long."""
    found: dict[str, Any] = _without_mail_lengths(description())
    return found


def _without_mail_lengths(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_mail_lengths(each) for each in value]
    if not isinstance(value, dict):
        return value
    left = {name: _without_mail_lengths(inner) for name, inner in value.items()}
    if left.get("pattern") == EMAIL_PATTERN:
        left.pop("maxLength", None)
    return left


def schema_of(operation: Operation) -> BaseSchema:
    """The description of one path. Schemathesis copies the document: with every path it has 15 MB."""
    whole = _simplified()
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

    def send(case: Case) -> None:
        caller.send(case, api)

    load_all_checks()
    [made] = get_all_tests(schema=schema_of(operation), test_func=send, settings=DRAWN, given_kwargs=None)
    assert isinstance(made, Ok), made
    _, send_all = made.ok()
    seed(current_seed())(send_all)()
