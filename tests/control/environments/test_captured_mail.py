"""What a copy of production tried to send can be read by those who see the copy, and is limited."""

from datetime import timedelta

from stead.control.environments import captured_mail
from stead.control.sealing import Sealer
from stead.protocol.commands import CapturedMail, MailReport
from stead.shared.clock import MovableClock
from tests.control.environments.conftest import NODE, HostedSite

AT = 1_700_000_000.0


def mail(environment: str, number: int) -> CapturedMail:
    return CapturedMail(
        f"key-{number}",
        environment,
        AT + number,
        "shop@example.com",
        ("ann@example.com",),
        f"No. {number}",
        "x",
        9,
    )


async def report(site: HostedSite, *mails: CapturedMail, node: str = NODE) -> None:
    plane = site.driver.plane
    async with plane.database.transaction() as tx:
        await captured_mail.record(tx, Sealer.from_text(plane.settings.sealing_key), MailReport(node, mails))


async def subjects(site: HostedSite, env: str) -> list[str]:
    found: list[str] = []
    query = "?limit=40"
    while True:
        response = await site.request("GET", f"/{env}/mail{query}")
        assert response.status_code == 200, response.text
        found += [each["subject"] for each in response.json()["data"]]
        cursor = response.json()["pagination"]["next_cursor"]
        if cursor is None:
            return found
        query = f"?limit=40&cursor={cursor}"


async def test_mail_of_a_copy_is_listed_newest_first_and_once(site: HostedSite) -> None:
    env = await site.insert_environment()
    for _ in range(2):
        await report(site, mail(env, 2), mail(env, 1))
    await report(site, mail(env, 3))
    response = await site.request("GET", f"/{env}/mail")
    first = response.json()["data"][0]
    assert first["id"].startswith("mail_")
    assert first | {"id": "", "captured_at": ""} == {
        "id": "",
        "captured_at": "",
        "sender": "shop@example.com",
        "recipients": ["ann@example.com"],
        "subject": "No. 3",
        "text": "x",
        "size": 9,
    }
    assert await subjects(site, env) == ["No. 3", "No. 2", "No. 1"]
    stored = await site.driver.fetch_value(
        "select content from captured_mails where env_id = $1 limit 1", env
    )
    assert b"shop@example.com" not in stored, "it is sealed"


async def test_a_node_reports_only_for_copies_that_it_hosts(site: HostedSite, other_site: HostedSite) -> None:
    env, elsewhere = await site.insert_environment(), await other_site.insert_environment(node=None)
    production = (await site.read("production"))["id"]
    await report(site, mail(elsewhere, 1), mail(production, 2), mail("env_unknown", 3))
    await report(site, mail(env, 4), node="node-2")
    for where, which in ((site, env), (site, "production"), (other_site, elsewhere)):
        assert await subjects(where, which) == []


async def test_the_latest_hundred_are_kept_for_two_weeks(site: HostedSite, clock: MovableClock) -> None:
    env = await site.insert_environment()
    await report(site, *(mail(env, number) for number in range(60)))
    await report(site, *(mail(env, number) for number in range(60, 120)))
    assert await subjects(site, env) == [f"No. {number}" for number in range(119, 19, -1)]
    await site.driver.execute(
        "update captured_mails set captured_at = now() where env_id = $1 and node_key = 'key-119'", env
    )
    async with site.driver.plane.database.transaction() as tx:
        while await captured_mail.remove_old(tx):
            pass
    assert await subjects(site, env) == ["No. 119"]
    clock.ahead = timedelta(days=15)
    async with site.driver.plane.database.transaction() as tx:
        assert await captured_mail.remove_old(tx) == 1


async def test_mail_is_removed_with_its_environment(site: HostedSite) -> None:
    env = await site.create_environment(type="staging")
    await report(site, mail(env, 1))
    await site.complete("DELETE", f"/{env}")
    count = "select count(*) from captured_mails where env_id = $1"
    assert await site.driver.fetch_value(count, env) == 0
