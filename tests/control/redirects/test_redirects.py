"""Redirects through the API: replaced as a set, announced in parts."""

from stead.protocol import edge_records
from tests.control.served_site import REGION, ServedSite


async def test_redirects_are_replaced_as_a_set_and_announced_in_parts(served_site: ServedSite) -> None:
    many = [{"from": f"/old/{n}", "to": f"/new/{n}", "code": 301} for n in range(1200)]
    some = [{"from": "/a/*", "to": "/b/*", "code": 308}]
    keys = [edge_records.redirects_key(REGION, served_site.id, part) for part in range(3)]

    await served_site.complete("PUT", "/redirects", {"redirects": many})
    assert (await served_site.get("/redirects"))["redirects"] == many
    parts = [served_site.driver.announced[key] for key in keys]
    assert sum(len(part.rules) for part in parts if isinstance(part, edge_records.RedirectsRecord)) == 1200

    await served_site.complete("PUT", "/redirects", {"redirects": some})
    assert [served_site.driver.announced[key] is None for key in keys] == [False, True, True]
    record = served_site.record
    assert record.redirects is not None
    assert record.redirects.lengths == (3,)

    await served_site.complete("PUT", "/redirects", {"redirects": []})
    assert (await served_site.get("/redirects"))["redirects"] == []
    assert served_site.record.redirects is None
    assert [served_site.driver.announced[key] for key in keys] == [None, None, None]
