"""Records of a feed are matched with the components of sites, in both directions and once."""

import json
from pathlib import Path
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.http.principal import Pin
from stead.control.vulnerabilities import match_store, service, updating
from stead.protocol.work.scanning import Component
from tests.conftest import NewPerson
from tests.control.exec.samples import insert_wordpress_site
from tests.control.vulnerabilities.test_feed import record
from tests.people import Person
from tests.teams import environment_of, found_team, insert_key, insert_site


def _plugin(version: str, slug: str = "shop-kit") -> Component:
    return Component("plugin", slug, "Shop Kit", version)


async def _install(person: Person, site: str, *components: Component) -> str:
    async with person.transaction() as tx:
        env = await environment_of(tx, site)
        await service.record_inventory(tx, site, env, components)
    return env


async def _allow_fetching(plane: ControlPlane) -> None:
    """As if half an hour had passed."""
    async with plane.database.transaction() as tx:
        await tx.run("update vulnerability_feeds set claimed_at = null")


async def update_feed(plane: ControlPlane, path: Path, *records: dict[str, Any]) -> None:
    await _allow_fetching(plane)
    async with plane.database.transaction() as tx:
        # A feed that is much smaller than the last one is not believed, and other tests have read some.
        await tx.run("update vulnerability_feeds set records = 0")
    path.write_text(json.dumps({each["id"]: each for each in records}))  # noqa: ASYNC240
    await updating.update(plane.database, str(path), "")
    async with plane.database.transaction() as tx:
        while await updating.match(tx):
            pass


async def _announce(person: Person, site: str) -> int:
    """Returns how often the owner of the site was told until now."""
    async with person.transaction() as tx:
        while await updating.announce(tx):
            pass
        told = "select count(*) from events where site_id = $1 and type = $2"
        return int(await tx.value(told, site, "vulnerability.matched"))


async def test_a_known_vulnerable_plugin_is_found_and_fixed_by_an_update(
    plane: ControlPlane, new_person: NewPerson, tmp_path: Path
) -> None:
    person = await new_person()
    client, site = person.session, await insert_wordpress_site(person)
    path = f"/v1/sites/{site}/security/vulnerabilities"
    empty = (await client.get(path)).json()["data"]
    assert empty["summary"]["inventory_status"] == "missing"
    slug = site[-12:].lower()
    await _install(person, site, _plugin("1.2.3.0", slug), _plugin("trunk", f"own-{slug}"))
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", slug))
    found = (await client.get(path)).json()["data"]
    (finding,) = found["findings"]
    assert (finding["installed_version"], finding["fixed_version"], finding["patched"]) == (
        "1.2.3.0",
        "1.2.4",
        True,
    )
    assert finding["copyrights"]["defiant"]["notice"] == "n"
    assert (found["summary"]["critical"], found["summary"]["total"]) == (1, 1)
    assert found["summary"]["inventory_status"] == "unknown_versions"
    assert [each["component_slug"] for each in found["unknown"]] == [f"own-{slug}"]
    assert found["attribution"]["defiant"]["license_url"] == "u"
    assert await _announce(person, site) == 1
    async with person.transaction() as tx:
        event = await tx.value(
            "select data from events where site_id = $1 and type = 'vulnerability.matched'", site
        )
    # Wherever a record is shown, its source and its licence are.
    assert event["record_url"] == f"https://www.wordfence.com/v-{slug}"
    assert event["attribution"] == "n l u"
    # The same feed and the same components do not match again.
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", slug))
    await _install(person, site, _plugin("1.2.3.0", slug))
    assert await _announce(person, site) == 1
    # Another version that is affected, too, is no news.
    await _install(person, site, _plugin("1.2.2", slug))
    assert await _announce(person, site) == 1
    await _install(person, site, _plugin("1.2.4", slug))
    fixed = (await client.get(path)).json()["data"]
    assert (fixed["findings"], fixed["summary"]["inventory_status"]) == ([], "complete")
    # A component that is installed later is matched with the records that are known.
    await _install(person, site, _plugin("1.0", slug))
    assert len((await client.get(path)).json()["data"]["findings"]) == 1


async def test_a_record_about_many_sites_is_matched_in_parts(
    plane: ControlPlane, new_person: NewPerson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of 5000 findings would need as many sites."""
    monkeypatch.setattr(match_store, "MAX_FINDINGS", 2)
    person = await new_person()
    sites = [await insert_wordpress_site(person) for _ in range(5)]
    slug = sites[0][-12:].lower()
    for number, site in enumerate(sites):
        await _install(person, site, _plugin(f"1.{number % 2}", slug))
    await _install(person, sites[0], _plugin("1.0", slug), _plugin("1.0", f"other-{slug}"))

    async def find_sites(vulnerability: str) -> int:
        async with person.transaction() as tx:
            open_ = "select count(*) from vulnerability_findings where vulnerability_id = $1"
            return int(await tx.value(f"{open_} and fixed_at is null", vulnerability))

    others = [record(f"u-{slug}", f"other-{slug}"), record(f"w-{slug}", f"other-{slug}")]
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", slug), *others)
    assert await find_sites(f"v-{slug}") == 5
    assert [await find_sites(f"{each}-{slug}") for each in "uw"] == [1, 1]
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", f"none-{slug}"), *others)
    assert await find_sites(f"v-{slug}") == 0
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", slug), *others)
    assert await find_sites(f"v-{slug}") == 5


async def test_a_theme_with_the_slug_of_a_vulnerable_plugin_is_not_found(
    plane: ControlPlane, new_person: NewPerson, tmp_path: Path
) -> None:
    person = await new_person()
    client, site = person.session, await insert_wordpress_site(person)
    slug = site[-12:].lower()
    await _install(person, site, Component("theme", slug, "Theme", "1.0"))
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", slug))
    assert (await client.get(f"/v1/sites/{site}/security/vulnerabilities")).json()["data"]["findings"] == []


async def test_a_broken_feed_keeps_the_last_good_one_and_says_why(
    plane: ControlPlane, new_person: NewPerson, tmp_path: Path
) -> None:
    person = await new_person()
    client, site = person.session, await insert_wordpress_site(person)
    slug = site[-12:].lower()
    await _install(person, site, _plugin("1.0", slug))
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", slug))
    before = (await client.get(f"/v1/sites/{site}/security/vulnerabilities")).json()["data"]
    await _allow_fetching(plane)
    (tmp_path / "feed").write_text('{"v": ')
    await updating.update(plane.database, str(tmp_path / "feed"), "")
    after = (await client.get(f"/v1/sites/{site}/security/vulnerabilities")).json()["data"]
    assert after["findings"] == before["findings"]
    assert after["summary"]["checked_at"] == before["summary"]["checked_at"]
    assert after["summary"]["feed_error"]


async def test_a_record_that_cannot_be_read_any_more_stays_as_it_was(
    plane: ControlPlane, new_person: NewPerson, tmp_path: Path
) -> None:
    person = await new_person()
    client, site = person.session, await insert_wordpress_site(person)
    slug = site[-12:].lower()
    await _install(person, site, _plugin("1.0", slug))
    others = [record(f"o{number}-{slug}", f"none-{slug}") for number in range(150)]
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", slug), *others)
    path = f"/v1/sites/{site}/security/vulnerabilities"
    before = (await client.get(path)).json()["data"]
    await update_feed(plane, tmp_path / "feed", record(f"v-{slug}", slug, title="a\0b"), *others)
    after = (await client.get(path)).json()["data"]
    assert after["findings"] == before["findings"] != []
    assert after["summary"]["feed_error"] is None
    assert after["summary"]["checked_at"] > before["summary"]["checked_at"]


async def test_the_feed_is_fetched_at_most_every_half_hour_and_a_much_smaller_one_is_not_believed(
    plane: ControlPlane, new_person: NewPerson, tmp_path: Path
) -> None:
    person = await new_person()
    client, site = person.session, await insert_wordpress_site(person)
    slug = site[-12:].lower()
    await _install(person, site, _plugin("1.0", slug))
    await update_feed(plane, tmp_path / "feed", *(record(f"v{number}-{slug}", slug) for number in range(4)))
    path = f"/v1/sites/{site}/security/vulnerabilities"
    assert len((await client.get(path)).json()["data"]["findings"]) == 4
    # Another worker has fetched it a moment ago.
    (tmp_path / "feed").write_text(json.dumps({"other": record("other", slug)}))
    await updating.update(plane.database, str(tmp_path / "feed"), "")
    assert (await client.get(path)).json()["data"]["summary"]["feed_error"] is None
    await _allow_fetching(plane)
    await updating.update(plane.database, str(tmp_path / "feed"), "")
    after = (await client.get(path)).json()["data"]
    assert (len(after["findings"]), after["summary"]["feed_error"]) == (
        4,
        "The feed has 1 records; the last one had 4.",
    )


async def test_the_summary_of_a_pinned_key_has_only_the_sites_that_it_sees(new_person: NewPerson) -> None:
    person = await new_person()
    team = await found_team(person)
    async with person.transaction() as tx:
        own, shared = await insert_site(tx, account=person.id), await insert_site(tx, team=team)
        _, secret = await insert_key(tx, person.id, pin=Pin("site", own))
    everything = (await person.session.get("/v1/security/summary")).json()["data"]
    assert {each["site_id"] for each in everything["sites"]} == {own, shared}
    assert not everything["truncated"]
    pinned = (await person.session.as_(secret).get("/v1/security/summary")).json()["data"]
    assert [each["site_id"] for each in pinned["sites"]] == [own]


async def test_versions_and_fixed_findings_that_nobody_needs_are_removed(
    plane: ControlPlane, new_person: NewPerson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names other versions at each scan must not fill the database."""
    monkeypatch.setattr(service, "MAX_FIXED", 2)
    person = await new_person()
    site = await insert_wordpress_site(person)
    slug = f"renamed-{site[-8:].lower()}"
    await update_feed(plane, tmp_path / "feed", *(record(f"v{number}-{slug}", slug) for number in range(4)))
    for number in range(6):
        async with plane.database.transaction() as tx:
            earlier = "update vulnerability_findings set fixed_at = fixed_at - interval '1 hour'"
            await tx.run(f"{earlier} where site_id = $1", site)
        env = await _install(person, site, _plugin(f"1.0.{number}", slug))
    await updating.remove_unused(plane.database)
    async with person.transaction() as tx:
        kept = await tx.all(str, "select version from component_versions where slug = $1 order by 1", slug)
        fixed = "select count(*) from vulnerability_findings where env_id = $1 and fixed_at is not null"
        # Those of one scan are removed together.
        assert (await tx.value(fixed, env), kept) == (4, ["1.0.5"])


async def _delete(person: Person, site: str, *, recoverable_for: str) -> None:
    async with person.transaction() as tx:
        await tx.run(
            "update sites set status = 'deleted', recoverable_until = now() + $2::text::interval"
            " where id = $1",
            *(site, recoverable_for),
        )
        await tx.run(
            "update environments set status = 'deleted', returns_to = 'running' where site_id = $1", site
        )


async def test_owners_hear_nothing_about_sites_that_they_have_deleted(
    plane: ControlPlane, new_person: NewPerson, tmp_path: Path
) -> None:
    person = await new_person()
    site = await insert_wordpress_site(person)
    slug = f"deleted-{site[-8:].lower()}"
    await _install(person, site, _plugin("1.0", slug))
    await _delete(person, site, recoverable_for="1 day")
    await update_feed(plane, tmp_path / "feed", record(f"v1-{slug}", slug))
    assert await _announce(person, site) == 0


@pytest.mark.parametrize(("recoverable_for", "kept"), [("1 day", 1), ("-1 day", 0)])
async def test_what_is_known_about_a_site_is_forgotten_when_it_cannot_be_recovered_any_more(
    recoverable_for: str, kept: int, plane: ControlPlane, new_person: NewPerson, tmp_path: Path
) -> None:
    person = await new_person()
    site, other = [await insert_wordpress_site(person) for _ in range(2)]
    slug = f"purged-{site[-8:].lower()}"
    await update_feed(plane, tmp_path / "feed", record(f"v1-{slug}", slug))
    for each in (site, other):
        await _install(person, each, _plugin("1.0", slug))
    await _delete(person, site, recoverable_for=recoverable_for)
    await updating.remove_unused(plane.database)
    async with person.transaction() as tx:
        for table in ("site_components", "component_inventories", "vulnerability_findings"):
            count = f"select count(*) from {table} where site_id = $1"
            assert (await tx.value(count, site), await tx.value(count, other)) == (kept, 1), table
