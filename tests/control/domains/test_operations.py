"""Attaching, detaching and choosing the primary domain."""

from datetime import timedelta

from stead.control.domains import store
from stead.control.domains.rules import MAX_DOMAINS
from stead.shared.clock import MovableClock
from tests.client import code_of
from tests.control.domains.conftest import ELSEWHERE, Harness
from tests.control.site_driver import new_domain
from tests.teams import insert_domain, insert_environment


async def test_an_attached_domain_is_served_beside_the_primary_one(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    job = await harness.run(await site.attach(name.upper()))
    assert (job["type"], job["resource"]["type"]) == ("domain.attach", "domain")
    domain = await site.domain_of(name)
    assert job["resource"]["id"] == domain["id"]
    assert not domain["primary"]
    await harness.look_up()
    assert harness.edges.environment_of(name) == site.env
    assert harness.edges.environment_of(site.domain) == site.env
    assert await harness.certificate_requested(name)
    assert {"domain.attached", "domain.verified"} <= set(await harness.events(site))
    read = await site.owner.get(f"{site.domains_path}/{domain['id']}")
    assert read.json()["data"]["status"] == "verified"


async def test_www_and_the_apex_are_attached_in_one_call(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    await harness.run(await site.attach(name, include_www=True))
    await harness.look_up()
    domains = await site.domains()
    assert not domains[name]["redirect_to_primary"]
    assert domains[f"www.{name}"]["redirect_to_primary"]
    assert harness.edges.redirect_of(name) == ""
    assert harness.edges.redirect_of(f"www.{name}") == site.domain
    await harness.run(await site.make_primary(name))
    assert harness.edges.redirect_of(f"www.{name}") == name


async def test_the_apex_is_the_sibling_of_www(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    await harness.run(await site.attach(f"www.{name}", include_www=True))
    assert {name, f"www.{name}"} < set(await site.domains())


async def test_www_redirects_to_the_domain_of_a_site(harness: Harness):
    site = await harness.served_site()
    await harness.run(await site.attach(f"www.{site.domain}", redirect_to_primary=True))
    await harness.look_up()
    assert harness.edges.redirect_of(f"www.{site.domain}") == site.domain


async def test_nothing_redirects_to_a_primary_domain_that_is_not_verified(harness: Harness):
    name = new_domain()
    await harness.point(name, ELSEWHERE)
    site = await harness.create_site(name)
    await harness.run(await site.attach(f"www.{name}", redirect_to_primary=True))
    await harness.look_up()
    assert harness.edges.environment_of(f"www.{name}") == site.env
    assert harness.edges.redirect_of(f"www.{name}") == ""


async def test_of_two_names_in_one_call_both_are_attached_or_none(harness: Harness):
    site, other, name = await harness.served_site(), await harness.served_site(), new_domain()
    await harness.run(await other.attach(f"www.{name}"))
    await harness.look_up()
    assert code_of(await site.attach(name, include_www=True)) == "site.domain_taken"
    assert set(await site.domains()) == {site.domain}


async def test_a_domain_is_attached_once(harness: Harness):
    site = await harness.served_site()
    assert code_of(await site.attach(site.domain)) == "site.domain_taken"


async def test_a_detached_domain_is_withdrawn_from_the_edges(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    await harness.run(await site.attach(name))
    await harness.look_up()
    assert (await site.detach(name)).status_code == 204
    assert set(await site.domains()) == {site.domain}
    assert not await harness.certificate_requested(name)
    await harness.look_up()
    assert harness.edges.environment_of(name) is None
    assert harness.edges.environment_of(site.domain) == site.env
    assert "domain.detached" in await harness.events(site)


async def test_a_name_that_is_still_being_withdrawn_is_not_served_for_anybody_else(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    await harness.run(await site.attach(name))
    await harness.look_up()
    other = await harness.served_site(client=site.owner)
    harness.edges.is_down = True
    await site.detach(name)
    await harness.look_up()
    await harness.run(await other.attach(name))
    assert (await other.domain_of(name))["status"] == "pending"
    harness.edges.is_down = False
    harness.clock.ahead += timedelta(minutes=1)
    await harness.look_up()
    harness.clock.ahead += timedelta(minutes=1)
    await harness.look_up()
    assert harness.edges.environment_of(name) == other.env


async def test_the_primary_domain_cannot_be_detached(harness: Harness):
    site = await harness.served_site()
    assert code_of(await site.detach(site.domain)) == "domain.is_primary"


async def test_a_domain_is_not_detached_while_a_job_of_the_site_runs(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    assert (await site.attach(name)).status_code == 202
    assert code_of(await site.detach(name)) == "site.busy"


async def test_the_primary_domain_is_the_domain_of_the_site(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    await harness.run(await site.attach(name))
    await harness.look_up()
    await harness.run(await site.make_primary(name))
    assert (await site.read())["domain"] == name
    domains = await site.domains()
    assert (domains[name]["primary"], domains[site.domain]["primary"]) == (True, False)
    assert harness.edges.environment_of(site.domain) == site.env
    assert "domain.primary_changed" in await harness.events(site)


async def test_an_unverified_domain_cannot_become_the_primary_one(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    await harness.point(name, ELSEWHERE)
    await harness.run(await site.attach(name))
    assert code_of(await site.make_primary(name)) == "domain.not_verified"


async def test_only_a_domain_of_production_can_be_the_primary_one_or_redirect_to_it(harness: Harness):
    site = await harness.served_site()
    async with harness.plane.database.transaction() as tx:
        env = await insert_environment(tx, site.id)
        domain = await insert_domain(tx, env)
    path = f"/v1/sites/{site.id}/environments/{env}/domains"
    assert code_of(await site.owner.post(f"{path}/{domain}/primary")) == "domain.not_of_production"
    for field in ("redirect_to_primary", "include_www"):
        body = {"hostname": new_domain(), field: True}
        assert code_of(await site.owner.post(path, json=body)) == "request.field_invalid"


async def test_a_failed_attachment_leaves_no_domain(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    job = (await site.attach(name)).json()["data"]["id"]
    await harness.driver.undo_job(job)
    await harness.look_up()
    assert set(await site.domains()) == {site.domain}
    assert harness.edges.environment_of(name) is None
    assert "domain.attach_failed" in await harness.events(site)


async def test_a_change_of_the_primary_domain_that_fails_is_undone(harness: Harness):
    site, name = await harness.served_site(), new_domain()
    await harness.run(await site.attach(name))
    await harness.look_up()
    job = (await site.make_primary(name)).json()["data"]["id"]
    row = await harness.driver.job_row(job)
    workflow = harness.plane.context.workflows.of(row)
    await harness.driver.announce(row, workflow.steps["route"].announce)
    assert (await site.read())["domain"] == name
    await harness.driver.undo_job(job)
    assert (await site.read())["domain"] == site.domain


async def test_a_site_has_a_bounded_number_of_domains(harness: Harness):
    site = await harness.served_site()
    async with harness.plane.database.transaction() as tx:
        for _ in range(MAX_DOMAINS - 2):
            await insert_domain(tx, site.env)
    assert code_of(await site.attach(new_domain(), include_www=True)) == "quota.domains"
    assert (await site.attach(new_domain())).status_code == 202
    assert code_of(await site.attach(new_domain())) == "quota.domains"


async def test_a_transferred_site_takes_its_names_along(harness: Harness):
    site = await harness.served_site()
    receiver = await harness.new_person()
    async with harness.plane.database.transaction() as tx:
        await tx.run("update sites set account_id = $2 where id = $1", site.id, receiver.id)
    # The former owner is now a stranger to the name.
    attacker = await harness.create_site(f"a.{site.domain}", site.owner)
    await harness.look_up()
    assert (await attacker.domain_of(f"a.{site.domain}"))["status"] == "pending"


async def test_names_that_were_given_up_are_forgotten_after_thirty_days(
    harness: Harness, clock: MovableClock
):
    site, name = await harness.served_site(), new_domain()
    await harness.run(await site.attach(name))
    await harness.look_up()
    await site.detach(name)
    await harness.look_up()
    for days, forgotten in ((29, 0), (31, 1)):
        clock.ahead = timedelta(days=days)
        async with harness.plane.database.transaction() as tx:
            assert await store.remove_forgotten(tx) == forgotten
