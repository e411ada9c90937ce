"""A new password of the administrator is shown once, and stored nowhere."""

import base64

from stead.control.access.admin_passwords import hash_for_wordpress
from stead.control.jobs.presigning import password_hash_context
from stead.control.sealing import Sealer
from stead.control.settings import Settings
from tests.control.exec.samples import insert_wordpress_site
from tests.people import Person


def test_the_hash_is_the_one_of_phpass():
    """The test vector of phpass itself."""
    hashed = "$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0"
    assert hash_for_wordpress("test12345", hashed[4:12], rounds_log2=11) == hashed


def test_two_hashes_of_a_password_differ():
    assert hash_for_wordpress("x") != hash_for_wordpress("x")


async def test_the_password_is_in_the_response_and_nowhere_else(person: Person, settings: Settings):
    site = await insert_wordpress_site(person)
    response = await person.session.post(f"/v1/sites/{site}/admin-password/reset")
    assert response.status_code == 200, response.text
    shown = response.json()["data"]
    assert shown["username"] == "admin"
    assert len(shown["password"]) == 32
    async with person.transaction() as tx:
        stored = await tx.value("select jobs::text from jobs where id = $1", shown["job_id"])
        sealed = await tx.value(
            "select params #>> '{with,password_hash}' from jobs where id = $1", shown["job_id"]
        )
        audited = await tx.value(
            "select a::text from audit_events a where site_id = $1 and event = 'admin_password_reset'", site
        )
    for place in (stored, audited):
        assert shown["password"] not in place
        assert "$P$" not in place
    opened = (
        Sealer.from_text(settings.sealing_key)
        .open(base64.b64decode(sealed), context=password_hash_context(site))
        .decode()
    )
    assert opened == hash_for_wordpress(shown["password"], opened[4:12])
    again = (await person.session.post(f"/v1/sites/{site}/admin-password/reset")).json()["data"]
    assert again["password"] != shown["password"]
