"""Every list is read from an index, however many rows other owners have, for every kind of caller.

`STEAD_OTHER_SITES` is the number of sites of other owners. `make lists` uses a million, and ten million jobs.
"""

import os
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.http.operations import Operation
from stead.control.http.principal import Pin, PinType
from stead.control.settings import Settings
from stead.shared.roles import Role
from tests import own_database, teams
from tests.client import Client
from tests.conftest import FIGURE
from tests.contract.walk import each, path_values, url_of
from tests.control.scale.explaining import cost_of, recorded_statements
from tests.control.scale.population import add_other_owners
from tests.people import Person, make_person

OTHER_SITES = int(os.environ.get("STEAD_OTHER_SITES", "20000"))
JOBS_PER_SITE = 10
TEAMS, OWN_SITES, OWN_JOBS = 10, 20, 10
"""The caller is in so many teams. Each of them, and the caller, has so many sites with so many jobs each."""
ROWS_OF_ONE = 5 * OWN_SITES * OWN_JOBS
"""A list may read so many rows for each owner: every row of that owner a few times."""
OVERVIEWS = ("account.get", "backups.status", "security.summary", "notifications.unread_count")
MAY_BE_SCANNED = {"certificates"}
"""This table is empty here, and PostgreSQL does not use the index of an empty table."""

settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous


async def _add_sites(person: Person, owner: dict[str, Any], project: str | None = None) -> None:
    async with person.transaction() as tx:
        sites = [await teams.insert_site(tx, project=project, **owner) for _ in range(OWN_SITES)]
        for site in sites * OWN_JOBS:
            await teams.insert_job(tx, site, *owner.values(), status="succeeded")


@pytest.fixture(scope="module")
async def others(plane: ControlPlane, settings: Settings) -> None:
    await add_other_owners(settings.database_url, sites=OTHER_SITES, jobs=OTHER_SITES * JOBS_PER_SITE)


@pytest.fixture(scope="module")
async def owner(plane: ControlPlane, anonymous: Client, others: None) -> Person:
    """Somebody who is in no team."""
    person = await make_person(plane, anonymous)
    async with person.transaction() as tx:
        project = await teams.insert_project(tx, account=person.id)
    await _add_sites(person, {"account": person.id}, project)
    return person


@pytest.fixture(scope="module")
async def member(plane: ControlPlane, anonymous: Client, others: None) -> Person:
    """Somebody who is in ten teams of another."""
    person, founder = await make_person(plane, anonymous), await make_person(plane, anonymous)
    await _add_sites(person, {"account": person.id})
    for _ in range(TEAMS):
        async with person.transaction() as tx:
            team = await teams.insert_team(tx, founder.id)
            await teams.insert_member(tx, team, person.id, Role.ADMIN)
        await _add_sites(founder, {"team": team})
    return person


class ListReader:
    """Reads lists, and asserts that no large table is read as a whole and few rows are read at all."""

    def __init__(self, url: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        self._url, self._node, self._monkeypatch = url, request.node, monkeypatch

    async def read(self, client: Client, path: str, *, rows: int) -> None:
        assert (await client.get(path)).status_code == 200  # the next request finds the principal in memory
        with recorded_statements(self._monkeypatch) as statements:
            assert (await client.get(path)).status_code == 200
        for plan in ("custom", "generic"):
            cost = await cost_of(self._url, statements, plan=plan)
            figure = f"{self._node.name} {path}: {cost.rows} rows, {cost.milliseconds:.1f} ms, {plan} plan"
            self._node.user_properties.append((FIGURE, figure))
            assert cost.scanned <= MAY_BE_SCANNED, figure
            assert cost.rows <= rows, figure


@pytest.fixture
def lists(settings: Settings, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ListReader:
    return ListReader(settings.database_url, request, monkeypatch)


@each(lambda operation: operation.response_kind == "list")
async def test_a_list_reads_no_rows_of_other_owners(operation: Operation, owner: Person, lists: ListReader):
    path = url_of(operation, await path_values(operation, owner))
    await lists.read(owner.session, path, rows=ROWS_OF_ONE)


@each(lambda operation: operation.id in OVERVIEWS)
async def test_an_overview_reads_no_rows_of_other_owners(
    operation: Operation, owner: Person, lists: ListReader
):
    await lists.read(owner.session, url_of(operation, {}), rows=ROWS_OF_ONE)


@pytest.mark.parametrize(
    "path", ["/v1/sites", "/v1/jobs", "/v1/jobs?status=failed", "/v1/jobs?resource_type=site", "/v1/events"]
)
async def test_lists_of_a_member_of_ten_teams_read_only_rows_of_those_teams(
    path: str, member: Person, lists: ListReader
):
    await lists.read(member.session, path, rows=(1 + TEAMS) * ROWS_OF_ONE)


@pytest.mark.parametrize("path", ["/v1/sites", "/v1/jobs", "/v1/events"])
@pytest.mark.parametrize("pinned_to", ["site", "environment", "project", "team"])
async def test_lists_of_a_pinned_key_read_only_rows_of_its_account(
    path: str, pinned_to: PinType, owner: Person, member: Person, anonymous: Client, lists: ListReader
):
    person = member if pinned_to == "team" else owner
    async with person.transaction() as tx:
        resources = await tx.one(
            lambda *ids: dict(zip(("site", "environment", "project"), ids, strict=True)),
            "select s.id, e.id, s.project_id from sites s join environments e on e.site_id = s.id"
            " where s.account_id = $1 order by s.id limit 1",
            owner.id,
        )
        team = await tx.value("select max(team_id) from team_members where account_id = $1", member.id)
        pin = Pin(pinned_to, {**(resources or {}), "team": team}[pinned_to])
        _, secret = await teams.insert_key(tx, person.id, pin=pin)
    rows = (1 + TEAMS) * ROWS_OF_ONE if person is member else ROWS_OF_ONE
    await lists.read(anonymous.as_(secret), path, rows=rows)
