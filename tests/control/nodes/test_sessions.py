"""Who has entered a site over SSH is in the audit trail of the site."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.nodes.sessions import BURST, PER_SECOND, NodeLimits, record_session
from stead.protocol.commands import SessionReport
from stead.shared.roles import Role
from tests.control.site_driver import SiteDriver
from tests.enrolled_nodes import record_node
from tests.people import Person
from tests.teams import found_team, insert_account, insert_environment, insert_member

NODE = "node-sessions"
ENTERED = datetime.now(UTC).replace(microsecond=0)


async def make_report(
    plane: ControlPlane, person: Person, session: str, **owner: str
) -> tuple[str, SessionReport]:
    site, _ = await SiteDriver(plane).insert_site(**(owner or {"account": person.id}))
    async with plane.database.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
        env = await insert_environment(tx, site, node=NODE)
    report = SessionReport(NODE, session, env, person.id, "key_1", "192.0.2.7", "SSH-2.0-OpenSSH_9.2")
    return site, msgspec.structs.replace(report, entered_at=int(ENTERED.timestamp() * 1000))


async def record(plane: ControlPlane, report: SessionReport, received: datetime = ENTERED) -> bool:
    async with plane.database.transaction() as tx:
        return await record_session(tx, report, received)


async def entries(person: Person, site: str) -> list[dict[str, object]]:
    response = await person.session.get(f"/v1/sites/{site}/audit?event=ssh.session")
    assert response.status_code == 200, response.text
    return list(response.json()["data"])


async def test_a_session_is_recorded_once(plane: ControlPlane, person: Person):
    site, report = await make_report(plane, person, "a1")
    for delay, expected in ((0, True), (0, False), (3600, False)):
        assert await record(plane, report, ENTERED + timedelta(seconds=delay)) is expected
    (entry,) = await entries(person, site)
    assert (entry["actor_user_id"], entry["actor_kind"], entry["site_id"]) == (person.id, "member", site)
    assert entry["meta"] == {
        "session": "a1",
        "environment": report.environment,
        "credential": "key_1",
        "address": "192.0.2.7",
        "client": "SSH-2.0-OpenSSH_9.2",
    }


async def test_a_node_reports_only_on_what_it_hosts(plane: ControlPlane, person: Person):
    site, report = await make_report(plane, person, "b1")
    async with plane.database.transaction() as tx:
        await record_node(tx, "node-other", "nowhere")
        other = SessionReport("node-other", "b2", report.environment, person.id, "key_1", "192.0.2.7", "")
        assert not await record_session(tx, other, ENTERED)
    assert await entries(person, site) == []


async def test_recording_a_session_reads_no_earlier_ones(plane: ControlPlane, person: Person):
    site, report = await make_report(plane, person, "c0")
    async with plane.database.transaction() as tx:
        for number in range(50):
            repeated = msgspec.structs.replace(report, session=f"c{number}")
            assert await record_session(tx, repeated, ENTERED)
        scanned = (
            "select sum(seq_tup_read + idx_tup_fetch) from pg_stat_xact_user_tables where relname ~ 'audit'"
        )
        # Those of earlier transactions of the connection may still be counted.
        assert await tx.value(scanned) < 50
    assert len(await entries(person, site)) == 50


@pytest.mark.parametrize("delay", [timedelta(minutes=-2), timedelta(days=2)])
async def test_a_node_does_not_choose_when_a_session_was(
    plane: ControlPlane, person: Person, delay: timedelta
):
    site, report = await make_report(plane, person, "d1")
    received = ENTERED + delay
    assert await record(plane, report, received)
    (entry,) = await entries(person, site)
    assert datetime.fromisoformat(str(entry["created_at"])) == received


async def test_only_the_owner_and_members_of_the_team_are_named(plane: ControlPlane, person: Person):
    async with plane.database.transaction() as tx:
        stranger = await insert_account(tx)
        member = await insert_account(tx)
    team = await found_team(person)
    async with plane.database.transaction() as tx:
        await insert_member(tx, team, member.id, Role.SITE_MANAGER)
    sites = [await make_report(plane, person, "e1"), await make_report(plane, person, "e2", team=team)]
    named = []
    for site, report in sites:
        for account in (person, member, stranger):
            claimed = msgspec.structs.replace(
                report, session=f"{report.session}-{account.id}", account=account.id
            )
            assert await record(plane, claimed)
        named.append({(each["actor_user_id"], each["actor_kind"]) for each in await entries(person, site)})
    assert named == [
        {(person.id, "member"), (None, "system")},
        {(person.id, "member"), (member.id, "member"), (None, "system")},
    ]


def test_a_node_cannot_fill_the_trail_and_takes_nothing_from_others():
    limits = NodeLimits()
    allowed = sum(limits.allows("node-evil", ENTERED) for _ in range(10 * BURST))
    assert allowed == BURST
    assert limits.allows("node-other", ENTERED)
    later = ENTERED + timedelta(seconds=10)
    assert sum(limits.allows("node-evil", later) for _ in range(BURST)) == 10 * PER_SECOND
    # What is delivered again does not count as time that has passed.
    assert not limits.allows("node-evil", ENTERED)
