"""Purging the page cache through the API."""

import pytest

from stead.protocol import edge_records
from tests.control.served_site import REGION, ServedSite


@pytest.mark.parametrize(
    ("body", "purge"),
    [
        (None, {}),
        ({}, {}),
        ({"type": "url", "url": "/news?b=1&a=2"}, {"url": "/news?b=1&a=2"}),
        ({"type": "url", "url": "https://example.com"}, {"url": "/"}),
        ({"type": "tag", "tag": "post-7"}, {"tag": "post-7"}),
    ],
)
async def test_a_purge_is_announced_as_one_record(
    served_site: ServedSite, body: object, purge: dict[str, str]
) -> None:
    await served_site.complete("POST", "/environments/production/cache/purge", body)
    wanted = edge_records.PurgeRecord(served_site.env, **purge)
    assert served_site.driver.announced == {edge_records.purge_key(REGION, wanted): wanted}


@pytest.mark.parametrize(
    ("body", "param"),
    [({"type": "url"}, "url"), ({"type": "tag", "url": "/a"}, None), ({"tag": "a"}, "tag")],
)
async def test_a_purge_with_contradicting_fields_is_refused(
    served_site: ServedSite, body: object, param: str | None
) -> None:
    where = f"/v1/sites/{served_site.id}/environments/production/cache/purge"
    refused = await served_site.person.session.post(where, json=body)
    assert refused.status_code == 400, refused.text
    assert param is None or refused.json()["error"]["param"] == param
