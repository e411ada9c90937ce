"""A file of a site is an upload of the same site."""

from typing import Any

from tests.answering_node import answering_site
from tests.client import code_of
from tests.people import Person


async def test_a_file_needs_an_upload_of_its_site(person: Person, stranger: Person):
    site, theirs = await answering_site(person, {}), await answering_site(stranger, {})
    path, client = f"/v1/sites/{site}/content", person.session
    upload = (await client.post(f"/v1/sites/{site}/uploads", json={"size_bytes": 100})).json()["data"]["id"]
    other = await stranger.session.post(f"/v1/sites/{theirs}/uploads", json={"size_bytes": 100})
    media = {"type": "media", "filename": "dot.png", "source": upload}
    made = await client.post(path, json=media)
    assert made.status_code == 201, made.text
    assert made.json()["data"]["type"] == "media"
    large = await client.post(f"/v1/sites/{site}/uploads", json={"size_bytes": 33 << 20})
    changes: list[dict[str, Any]] = [
        *({"source": other.json()["data"]["id"]}, {"source": "upl_x"}, {"filename": "a/b.png"}),
        *({"slug": "x"}, {"terms": []}, {"type": "post"}, {"source": large.json()["data"]["id"]}),
    ]
    for change in changes:
        assert code_of(await client.post(path, json=media | change)) == "request.field_invalid", change
    batch = {"operations": [{"action": "create", "new": media}]}
    assert code_of(await client.post(f"{path}:batch", json=batch)) == "request.field_invalid"
