"""When a job says `succeeded`, whichever edge a visitor comes to, he meets what it changed."""

from stead.dev.local_node import LOCAL_REGION
from stead.protocol.edge_records import EnvironmentRecord, environment_key
from tests.edges.region import Region

CHANGES = 40


async def test_a_new_site_answers_at_both_edges_and_the_one_without_it_passes_on(region: Region) -> None:
    for machine in region.machines:
        site, path = await region.site_on(machine), "/passed-on.html"
        answers = [await region.visit(each, site.host) for each in region.machines]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].text == answers[1].text
        assert await region.seen(site.host, path) == [(404, "not_found")] * 2
        [passed_on] = await site.other.visits(path, host=site.host, at_least=1)
        served = await site.carrier.visits(path, host=site.host, at_least=2)
        assert passed_on["peer"] == site.carrier.address
        assert [visit["peer"] for visit in served] == ["", ""]
        assert passed_on["trace"] in [visit["trace"] for visit in served]


async def test_configuration_counts_at_both_edges(region: Region) -> None:
    site = await region.new_site()
    path = f"/v1/sites/{site.id}/config"
    await region.done("PATCH", path, {"security": {"allowed_ips": ["203.0.113.7"]}})
    assert await region.seen(site.host) == [(403, "not_allowed")] * 2
    await region.done("PATCH", path, {"security": {"allowed_ips": None}})
    assert await region.seen(site.host) == [(200, "")] * 2


async def test_the_visitor_s_own_address_counts_at_both_edges(region: Region) -> None:
    site = await region.new_site()
    path = f"/v1/sites/{site.id}/config"
    mine = site.other.namespace.address.rpartition(".")[0] + ".1"
    await region.done("PATCH", path, {"security": {"allowed_ips": [mine]}})
    assert await region.seen(site.host) == [(200, "")] * 2
    edges = [machine.namespace.address for machine in region.machines]
    await region.done("PATCH", path, {"security": {"allowed_ips": edges}})
    assert await region.seen(site.host) == [(403, "not_allowed")] * 2


async def test_redirects_lead_on_from_both_edges(region: Region) -> None:
    site = await region.new_site()
    rules = [
        {"from": "/old", "to": "/new", "code": 301},
        {"from": "/blog/*", "to": "/news/*", "code": 302},
    ]
    await region.done("PUT", f"/v1/sites/{site.id}/redirects", {"redirects": rules})
    for machine in region.machines:
        old = await region.visit(machine, site.host, "/old")
        blog = await region.visit(machine, site.host, "/blog/one?two=3")
        assert (old.status_code, old.headers["location"]) == (301, "/new")
        assert (blog.status_code, blog.headers["location"]) == (302, "/news/one?two=3")
    await region.done("PUT", f"/v1/sites/{site.id}/redirects", {"redirects": []})
    assert await region.seen(site.host, "/old") == [(404, "not_found")] * 2


async def test_a_deleted_site_is_gone_from_both_edges(region: Region) -> None:
    site = await region.new_site()
    await region.done("DELETE", f"/v1/sites/{site.id}", {"confirm_domain": site.host})
    assert await region.seen(site.host) == [(404, "unknown_host")] * 2


async def test_each_of_many_changes_is_met_at_both_edges_as_soon_as_it_is_applied(region: Region) -> None:
    site = await region.publish(region.machines[0])
    for turn in range(CHANGES):
        shut = turn % 2 == 0
        record = EnvironmentRecord(
            "site_told",
            site.carrier.id,
            release=site.release,
            allowed_ips=("203.0.113.7",) if shut else (),
        )
        await region.tell({environment_key(LOCAL_REGION, site.environment): record})
        assert await region.seen(site.host) == [(403, "not_allowed") if shut else (200, "")] * 2
