"""Two tenants with the same data: every view shows every kind of caller its own, and nothing else."""

import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from stead.control.app import ControlPlane
from stead.control.engines.object_store import ObjectStore
from stead.control.http.operations import Operation, QueryInput
from stead.control.insights.operations import operation as operations
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests.client import Client
from tests.conftest import NewPerson
from tests.control.conftest import Pin
from tests.control.insights.conftest import Pipeline, make_pipeline
from tests.control.insights.recorded import (
    TRACE,
    ledger_line,
    log_chunk_of,
    span_chunk_of,
    stamp,
    vitals_chunk_of,
)
from tests.control.served_site import ServedSite, create_served_site
from tests.people import Person
from tests.teams import insert_member, insert_team

OPERATIONS = [each for each in operations if each.id != "usage.storage"]
"""How much is stored is in PostgreSQL: test_storage.py."""
OF_A_RESOURCE = [each for each in OPERATIONS if "site_id" in each.path_parameters]
OF_THE_ACCOUNT = [each for each in OPERATIONS if not each.path_parameters]
OURS, THEIRS = 3, 1000
"""What the two tenants have, in all numbers."""

NUMBERS: dict[str, Callable[[Any], float]] = {
    "summary": lambda data: data["rum"][0]["samples"],
    "teams.insights_summary": lambda data: data["rum"][0]["samples"],
    "timeseries": lambda data: sum(point["samples"] for point in data["points"]),
    "pages": lambda data: sum(page["samples"] for page in data["pages"]),
    "traces": lambda data: sum(span["duration_ms"] for span in data["spans"]),
    "trace": lambda data: sum(span["duration_ms"] for span in data["spans"]),
    "traces.recent": lambda data: sum(span["duration_ms"] for span in data["spans"]),
    "requests": lambda data: sum(row["bytes_out"] for row in data["requests"]),
    "requests_volume": lambda data: sum(row["bytes_out"] for row in data["buckets"]),
    "resources": lambda data: sum(row["network_out_bytes"] for row in data["app"]),
    "logs": lambda data: sum(float(row["body"].split()[-1]) for row in data["lines"]),
    "logs_volume": lambda data: data["lines"],
    "logs.tail": lambda data: sum(float(row["body"].split()[-1]) for row in data["lines"]),
    "logs.volume": lambda data: data["lines"],
    "metrics.series": lambda data: sum(row["value"] for row in data["points"]),
}
"""How much a view shows, by the name of the view. Numbers of both tenants are different in all of them."""


def shown(each: Operation, data: Any) -> float:
    name = each.id.removeprefix("insights.").removesuffix("_of_environment")
    return NUMBERS[name](data)


def address(each: Operation, site: ServedSite, team: str = "", **query: str) -> str:
    if each.id == "metrics.series":
        query.setdefault("name", "bytes_out")
    path = each.path.replace("{site_id}", site.id).replace("{env_id}", site.env)
    path = path.replace("{team_id}", team).replace("{trace_id}", TRACE)
    return path + "".join(
        f"{'&' if number else '?'}{name}={value}" for number, (name, value) in enumerate(query.items())
    )


async def fill(pipeline: Pipeline, site: ServedSite, amount: int, lines: int) -> None:
    """The tenants differ in the sum of bytes, the numbers in log lines, and the number of lines."""
    await pipeline.record(ledger_line(site.env, bytes_out=amount - 1), ledger_line(site.env, bytes_out=1))
    text = "".join(f"{stamp()} PHP Warning:  amount {amount if n == 0 else 0}\n" for n in range(lines))
    await pipeline.deliver(*log_chunk_of(site.env, text))
    await pipeline.deliver(*vitals_chunk_of(site.env, *["LCP=1000.0000"] * lines))
    await pipeline.deliver(*span_chunk_of(site.env, ledger_line(site.env, time=amount / 1000)))
    await pipeline.insert_and_check()


@pytest.fixture(scope="module")
async def twins(
    plane: ControlPlane, objects: ObjectStore, new_person: NewPerson, clock: MovableClock
) -> tuple[ServedSite, ServedSite]:
    """Of two accounts. No test changes them."""
    clock.ahead *= 0
    pipeline = await make_pipeline(plane, objects)
    one, other = [await create_served_site(plane, await new_person()) for _ in range(2)]
    await fill(pipeline, one, OURS, OURS)
    await fill(pipeline, other, THEIRS, 50)
    return one, other


@dataclass
class TeamSite:
    """A site of a team."""

    site: ServedSite
    team: str
    members: dict[str, Person]
    """By role."""
    former: dict[str, Person]
    """Who had the role until now."""


@pytest.fixture(scope="module")
async def team_site(
    twins: tuple[ServedSite, ServedSite], plane: ControlPlane, objects: ObjectStore, new_person: NewPerson
) -> TeamSite:
    site = await create_served_site(plane, await new_person())
    await fill(await make_pipeline(plane, objects), site, OURS, OURS)
    members, former = [{role: await new_person() for role in ROLES} for _ in range(2)]
    async with plane.database.transaction() as tx:
        team = await insert_team(tx, site.person.id)
        await tx.run("update sites set account_id = null, team_id = $2 where id = $1", site.id, team)
        for people in (members, former):
            for role, person in people.items():
                await insert_member(tx, team, person.id, Role(role))
        ended = "update team_members set expires_at = now() where account_id = any($1)"
        await tx.run(ended, [person.id for person in former.values()])
    return TeamSite(site, team, members, former)


@pytest.mark.parametrize("each", OF_A_RESOURCE, ids=lambda each: each.id)
async def test_a_view_of_a_site_is_for_whoever_sees_the_site(
    twins: tuple[ServedSite, ServedSite], pinned: Pin, each: Operation
) -> None:
    one, other = twins
    own = one.person
    is_of_environment = "{env_id}" in each.path
    callers: dict[str, tuple[Client, bool]] = {
        "session": (own.session, True),
        "key": (await own.key(), True),
        "scoped key": (await own.key("observability:read"), True),
        "pinned to the site": (await pinned(own, ("site", one.id)), True),
        "pinned to the environment": (await pinned(own, ("environment", one.env)), is_of_environment),
        "pinned to another site": (await pinned(own, ("site", other.id)), False),
        "test key": (await own.key(mode="test"), False),
        "the other tenant": (other.person.session, False),
        "the other tenant, pinned": (await pinned(other.person, ("site", one.id)), False),
    }
    for name, (caller, sees) in callers.items():
        response = await caller.get(address(each, one))
        assert response.status_code == (200 if sees else 404), name
        if sees:
            assert shown(each, response.json()["data"]) == OURS, name
    unscoped = await (await own.key("sites:read")).get(address(each, one))
    assert unscoped.status_code == 403
    if is_of_environment:
        mixed = address(each, one).replace(one.env, other.env)
        assert (await own.session.get(mixed)).status_code == 404


@pytest.mark.parametrize("each", OF_THE_ACCOUNT, ids=lambda each: each.id)
async def test_a_view_of_all_sites_is_cut_down_to_what_the_credential_sees(
    twins: tuple[ServedSite, ServedSite], pinned: Pin, each: Operation
) -> None:
    one, other = twins
    own = one.person
    callers: dict[str, tuple[Client, int]] = {
        "session": (own.session, OURS),
        "key": (await own.key("observability:read"), OURS),
        "pinned to the site": (await pinned(own, ("site", one.id)), OURS),
        "pinned to the environment": (await pinned(own, ("environment", one.env)), OURS),
        "pinned to another site": (await pinned(own, ("site", other.id)), 0),
        "pinned to a team": (await pinned(own, ("team", "team_01k9zy3v7d00r3m8w5x2t6b4qa")), 0),
        "test key": (await own.key(mode="test"), 0),
    }
    for name, (caller, expected) in callers.items():
        response = await caller.get(address(each, one))
        assert response.status_code == 200, name
        assert shown(each, response.json()["data"]) == expected, name
    assert (await (await own.key("sites:read")).get(address(each, one))).status_code == 403


ROLES = {"owner": True, "admin": True, "site_manager": True, "observer": True, "billing": False}


def refusal(each: Operation) -> int:
    """Such a member sees no site, but the team. In the views of an account the sites are missing."""
    return 404 if each in OF_A_RESOURCE else 200 if each in OF_THE_ACCOUNT else 403


@pytest.mark.parametrize("each", OPERATIONS, ids=lambda each: each.id)
async def test_members_of_a_team_see_what_their_role_allows(team_site: TeamSite, each: Operation) -> None:
    asked = address(each, team_site.site, team_site.team)
    for role, sees in ROLES.items():
        response = await team_site.members[role].session.get(asked)
        assert response.status_code == (200 if sees else refusal(each)), role
        if response.status_code == 200:
            assert shown(each, response.json()["data"]) == (OURS if sees else 0), role
        gone = await team_site.former[role].session.get(asked)
        assert gone.status_code == 404 or shown(each, gone.json()["data"]) == 0, role


FRAGMENTS = [
    *("'", "\\", "\\'", "--", "/*", "*/", ";", ")", "(", "{", "}", "{sites:Array(String)}", "\0", "\t", "\n"),
    *(
        " or 1=1",
        " or site_id <> ''",
        "union all select",
        "[",
        "]",
        "%",
        "\\N",
        "’",
        "💥",
        "\ud7ff",
        "0x27",
        '"',
    ),
]
HOSTILE = st.lists(
    st.sampled_from(FRAGMENTS) | st.text(string.printable, max_size=5), min_size=1, max_size=8
).map("".join)


def parameters_of(each: Operation) -> list[str]:
    query = each.input_of(QueryInput)
    return [] if query is None else list(query.type.__struct_encode_fields__)


@pytest.mark.parametrize("each", [*filter(parameters_of, OPERATIONS)], ids=lambda each: each.id)
async def test_no_parameter_reaches_another_tenant_or_breaks_the_query(
    twins: tuple[ServedSite, ServedSite], plane: ControlPlane, each: Operation
) -> None:
    one, _ = twins
    async with plane.database.transaction() as tx:
        team = await insert_team(tx, one.person.id)
    required: dict[str, str] = {"name": "bytes_out"} if each.id == "metrics.series" else {}

    @hypothesis_settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
    @given(values=st.dictionaries(st.sampled_from(parameters_of(each)), HOSTILE, min_size=1, max_size=3))
    def collect(values: dict[str, str]) -> None:
        generated.append(values)

    generated: list[dict[str, str]] = []
    collect()
    for values in generated:
        query = required | values
        response = await one.person.session.get(address(each, one, team).partition("?")[0], params=query)
        assert response.status_code in (200, 400), response.text
        if response.status_code == 200:
            assert shown(each, response.json()["data"]) <= OURS


def test_every_view_has_a_bounded_window() -> None:
    for each in OPERATIONS:
        assert {"hours", "days"} & {*parameters_of(each)} or each.id.startswith("insights.trace")


@pytest.mark.parametrize("id_", [*FRAGMENTS, TRACE.upper(), TRACE + "'", "%25", "' or 1=1 --"])
async def test_the_id_of_a_trace_is_only_an_id(twins: tuple[ServedSite, ServedSite], id_: str) -> None:
    one, _ = twins
    path = f"/v1/sites/{one.id}/insights/traces/{quote(id_, safe='')}"
    response = await one.person.session.get(path)
    assert response.status_code in (200, 400, 404), response.text
    if response.status_code == 200:
        assert response.json()["data"]["spans"] == []


async def test_a_team_sees_its_own_sites_only(
    twins: tuple[ServedSite, ServedSite], team_site: TeamSite, plane: ControlPlane, pinned: Pin
) -> None:
    one, other, team = team_site.site, twins[1], team_site.team
    async with plane.database.transaction() as tx:
        empty = await insert_team(tx, one.person.id)
    [each] = [each for each in OPERATIONS if each.id == "teams.insights_summary"]
    callers: dict[str, tuple[Client, str, int | None]] = {
        "session": (one.person.session, team, OURS),
        "another team": (one.person.session, empty, 0),
        "pinned to the team": (await pinned(one.person, ("team", team)), team, OURS),
        "pinned to the other team": (await pinned(one.person, ("team", empty)), team, None),
        "the other tenant": (other.person.session, team, None),
        "test key": (await one.person.key(mode="test"), team, 0),
    }
    for name, (caller, asked, expected) in callers.items():
        response = await caller.get(address(each, one, asked))
        assert response.status_code == (404 if expected is None else 200), name
        if expected is not None:
            assert shown(each, response.json()["data"]) == expected, name


def test_every_view_is_covered() -> None:
    for each in OPERATIONS:
        name = each.id.removeprefix("insights.").removesuffix("_of_environment")
        assert name in NUMBERS
