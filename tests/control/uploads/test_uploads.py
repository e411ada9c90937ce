"""Upload URLs: signed for one object and a limited time."""

from urllib.parse import parse_qs, urlsplit

import pytest

from stead.control.app import ControlPlane
from stead.control.plans.rules import GB
from tests import teams
from tests.conftest import NewPerson
from tests.people import Person


async def test_an_upload_url_is_for_one_object_and_valid_for_an_hour(plane: ControlPlane, person: Person):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
    answer = await person.session.post(f"/v1/sites/{site}/uploads")
    assert answer.status_code == 201, answer.text
    upload = answer.json()["data"]
    address = urlsplit(upload["url"])
    assert address.path == f"/stead/uploads/{upload['id']}"
    assert parse_qs(address.query)["X-Amz-Expires"] == ["3600"]
    assert (upload["method"], upload["headers"], upload["max_bytes"]) == ("PUT", {}, 1024**3)


async def test_an_upload_to_a_site_of_another_tenant_is_refused(
    plane: ControlPlane, person: Person, stranger: Person
):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=stranger.id)
    answer = await person.session.post(f"/v1/sites/{site}/uploads")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "site.not_found")


@pytest.mark.parametrize("what", ["uploads", "environments/production/builds"])
async def test_a_full_plan_refuses_uploads_and_builds(plane: ControlPlane, new_person: NewPerson, what: str):
    person = await new_person(plan="free")
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        limit = await tx.value("select max_storage_gb from plans where name = 'free'")
        await teams.insert_artifact(tx, site, size=limit * GB)
    body = {"builder": "static", "source": "https://example.com/a.zip"}
    answer = await person.session.post(f"/v1/sites/{site}/{what}", json=body if "builds" in what else None)
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
    assert (await person.session.post(f"/v1/sites/{site}/uploads")).status_code == 201
    async with plane.database.reading() as tx:
        left = await tx.all(str, "select id from artifacts where site_id = $1 order by id", site)
    assert made[-10:] == left[-10:]
    assert made[0] not in left
