"""Upload URLs: signed for one object and a limited time."""

from urllib.parse import parse_qs, urlsplit

import pytest

from stead.control.app import ControlPlane
from stead.control.plans.rules import GB
from stead.control.uploads.rules import MAX_BYTES, MAX_OPEN
from tests import teams
from tests.conftest import NewPerson
from tests.people import Person


async def test_an_upload_url_is_for_one_object_and_valid_for_an_hour(plane: ControlPlane, person: Person):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
    answer = await person.session.post(f"/v1/sites/{site}/uploads", json={"size_bytes": 48213})
    assert answer.status_code == 201, answer.text
    upload = answer.json()["data"]
    address = urlsplit(upload["url"])
    assert address.path == f"/stead/uploads/{upload['id']}"
    assert parse_qs(address.query)["X-Amz-Expires"] == ["3600"]
    assert parse_qs(address.query)["X-Amz-SignedHeaders"] == ["content-length;host;if-none-match"]
    assert (upload["method"], upload["max_bytes"]) == ("PUT", 48213)
    assert upload["headers"] == {"Content-Length": "48213", "If-None-Match": "*"}


@pytest.mark.parametrize("body", [None, {}, {"size_bytes": 0}, {"size_bytes": MAX_BYTES + 1}])
async def test_an_upload_without_a_permitted_size_is_refused(
    plane: ControlPlane, person: Person, body: dict[str, int] | None
):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
    answer = await person.session.post(f"/v1/sites/{site}/uploads", json=body)
    assert answer.status_code == 400, answer.text


async def test_open_uploads_count_toward_the_storage_of_the_plan(plane: ControlPlane, new_person: NewPerson):
    """Also those that were never sent: a declared size is a promise to store so much."""
    person = await new_person(plan="free")
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        limit = await tx.value("select max_storage_gb from plans where name = 'free'")
        await teams.insert_artifact(tx, site, size=limit * GB - 2500)
    answers = [
        await person.session.post(f"/v1/sites/{site}/uploads", json={"size_bytes": 1000}) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 429]
    assert answers[1].json()["error"]["code"] == "quota.storage"


async def test_the_number_of_open_uploads_is_limited(plane: ControlPlane, new_person: NewPerson):
    person, neighbour = await new_person(plan="business"), await new_person(plan="business")
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        other = await teams.insert_site(tx, account=neighbour.id)
        for _ in range(MAX_OPEN):
            await teams.insert_upload(tx, site)
    refused = await person.session.post(f"/v1/sites/{site}/uploads", json={"size_bytes": 1})
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "quota.uploads")
    accepted = await neighbour.session.post(f"/v1/sites/{other}/uploads", json={"size_bytes": 1})
    assert accepted.status_code == 201


async def test_an_artifact_counts_with_its_unpacked_size(plane: ControlPlane, new_person: NewPerson):
    person = await new_person(plan="free")
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        limit = await tx.value("select max_storage_gb from plans where name = 'free'")
        artifact = await teams.insert_artifact(tx, site, size=96_000)
        await tx.run(
            "update artifact_blobs set unpacked_size = $2 where artifact_id = $1 and digest ="
            " (select layer_digest from artifacts where id = $1)",
            *(artifact, limit * GB),
        )
    answer = await person.session.post(f"/v1/sites/{site}/uploads", json={"size_bytes": 1})
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "quota.storage")


async def test_what_is_reported_about_a_layer_does_not_count_for_other_owners_of_it(
    plane: ControlPlane, new_person: NewPerson
):
    """A builder may lie about a layer that sites of others have, too, for example of a public template."""
    attacker, person = await new_person(plan="free"), await new_person(plan="free")
    async with plane.database.transaction() as tx:
        limit = await tx.value("select max_storage_gb from plans where name = 'free'")
        site, other = [await teams.insert_site(tx, account=each.id) for each in (person, attacker)]
        _, artifact = [await teams.insert_artifact(tx, each, content=b"template") for each in (site, other)]
        await tx.run(
            "update artifact_blobs set unpacked_size = $2 where artifact_id = $1", artifact, limit * GB
        )
    answers = [
        await each.session.post(f"/v1/sites/{on}/uploads", json={"size_bytes": 1})
        for each, on in ((person, site), (attacker, other))
    ]
    assert [answer.status_code for answer in answers] == [201, 429]


async def test_an_upload_to_a_site_of_another_tenant_is_refused(
    plane: ControlPlane, person: Person, stranger: Person
):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=stranger.id)
    answer = await person.session.post(f"/v1/sites/{site}/uploads", json={"size_bytes": 1})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "site.not_found")


@pytest.mark.parametrize("what", ["uploads", "environments/production/builds"])
async def test_a_full_plan_refuses_uploads_and_builds(plane: ControlPlane, new_person: NewPerson, what: str):
    person = await new_person(plan="free")
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        limit = await tx.value("select max_storage_gb from plans where name = 'free'")
        await teams.insert_artifact(tx, site, size=limit * GB)
    build = {"builder": "static", "source": "https://example.com/a.zip"}
    body = build if "builds" in what else {"size_bytes": 1}
    answer = await person.session.post(f"/v1/sites/{site}/{what}", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "quota.storage")


async def test_unused_artifacts_of_a_full_plan_are_removed_for_an_upload(
    plane: ControlPlane, new_person: NewPerson
):
    """The oldest artifacts are removed first, and no more than necessary."""
    person = await new_person(plan="free")
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        limit = await tx.value("select max_storage_gb from plans where name = 'free'")
        made = [await teams.insert_artifact(tx, site, size=limit * GB // 12) for _ in range(13)]
    answer = await person.session.post(f"/v1/sites/{site}/uploads", json={"size_bytes": 1})
    assert answer.status_code == 201
    async with plane.database.reading() as tx:
        left = await tx.all(str, "select id from artifacts where site_id = $1 order by id", site)
    assert made[-10:] == left[-10:]
    assert made[0] not in left
