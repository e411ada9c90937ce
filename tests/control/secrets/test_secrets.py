"""Secrets of environments: what is stored and shown, what is refused, and what a build gets."""

from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.jobs.presigning import unseal_secrets
from stead.control.sealing import SealBroken, Sealer
from stead.control.secrets import service
from stead.control.secrets.rules import MAX_SECRETS
from stead.control.settings import Settings
from stead.protocol.work.builds import ArchiveSource, Build
from tests import teams
from tests.client import code_of
from tests.people import Person

VALUE = "never-to-be-returned"


@dataclass(frozen=True)
class Scene:
    plane: ControlPlane
    person: Person
    sealer: Sealer
    site: str
    production: str
    branch: str

    async def set(
        self, name: str, value: str = VALUE, env: str = "production", **more: Any
    ) -> httpx.Response:
        path = f"/v1/sites/{self.site}/environments/{env}/secrets/{name}"
        return await self.person.session.put(path, json={"value": value, **more})

    async def listed(self, env: str = "production") -> list[dict[str, Any]]:
        found = await self.person.session.get(f"/v1/sites/{self.site}/environments/{env}/secrets")
        return list(found.json()["data"])

    async def delete(self, name: str) -> httpx.Response:
        return await self.person.session.delete(
            f"/v1/sites/{self.site}/environments/production/secrets/{name}"
        )

    async def built(self, env: str) -> tuple[dict[str, str], dict[str, str]]:
        """The secrets and the plain variables that a build for the environment gets."""
        async with self.plane.database.reading() as tx:
            found = await service.get_for_build(tx, env)
        assert VALUE not in str(found)
        work = Build("static", ArchiveSource("a"), "b", found.secret, found.plain)
        opened = unseal_secrets(work, self.sealer, self.site)
        assert isinstance(opened, Build)
        return dict(opened.variables), dict(opened.plain_variables)


@pytest.fixture
async def scene(plane: ControlPlane, person: Person, settings: Settings) -> Scene:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        production = await teams.environment_of(tx, site)
        branch = await teams.insert_environment(tx, site, "feature/a")
    return Scene(plane, person, Sealer.from_text(settings.sealing_key), site, production, branch)


async def test_a_secret_is_never_returned_and_a_plain_variable_is(scene: Scene):
    answers = [await scene.set("API_TOKEN"), await scene.set("THEME", "dark", plain=True)]
    assert [each.status_code for each in answers] == [200, 200]
    listed = await scene.listed()
    assert [(each["name"], each["plain"], each["value"]) for each in listed] == [
        ("THEME", True, "dark"),
        ("API_TOKEN", False, None),
    ]
    assert VALUE not in answers[0].text
    async with scene.plane.database.reading() as tx:
        stored = await tx.all(lambda row: row, "select s::text from environment_secrets s")
    assert VALUE.encode().hex() not in str(stored)
    assert VALUE not in str(stored)


async def test_a_build_gets_the_secrets_of_its_environment_and_no_other(scene: Scene):
    await scene.set("API_TOKEN")
    await scene.set("SHARED", "of production", previews=True)
    await scene.set("OWN", "of production", previews=True)
    await scene.set("THEME", "dark", plain=True, previews=True)
    await scene.set("OWN", "of the branch", scene.branch)
    assert await scene.built(scene.production) == (
        {"API_TOKEN": VALUE, "SHARED": "of production", "OWN": "of production"},
        {"THEME": "dark"},
    )
    assert await scene.built(scene.branch) == (
        {"SHARED": "of production", "OWN": "of the branch"},
        {"THEME": "dark"},
    )


async def test_a_staging_environment_gets_nothing_of_production(scene: Scene):
    await scene.set("SHARED", previews=True)
    async with scene.plane.database.transaction() as tx:
        staging = await teams.insert_environment(tx, scene.site)
    assert await scene.built(staging) == ({}, {})


async def test_a_sealed_value_opens_only_for_its_own_environment_and_name(scene: Scene):
    await scene.set("API_TOKEN")
    async with scene.plane.database.transaction() as tx:
        await tx.run(
            "insert into environment_secrets select $1 || '/API_TOKEN', $1, name, sealed, size, plain,"
            " previews, updated_at from environment_secrets where env_id = $2",
            *(scene.branch, scene.production),
        )
    with pytest.raises(SealBroken):
        await scene.built(scene.branch)


async def test_replacing_and_deleting_a_secret_take_effect_in_the_next_build(scene: Scene):
    await scene.set("API_TOKEN")
    await scene.set("API_TOKEN", "a newer value")
    assert (await scene.built(scene.production))[0] == {"API_TOKEN": "a newer value"}
    assert (await scene.delete("API_TOKEN")).status_code == 204
    assert await scene.built(scene.production) == ({}, {})
    assert code_of(await scene.delete("API_TOKEN")) == "secret.not_found"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("1ST", "cannot be the name of a variable"),
        ("A-B", "cannot be the name of a variable"),
        ("A" * 129, "cannot be the name of a variable"),
        ("STEAD_URL", "is set by the platform"),
        ("PATH", "is set by the platform"),
        ("npm_config_registry", "is set by the platform"),
    ],
)
async def test_a_name_that_no_build_can_use_is_refused(scene: Scene, name: str, reason: str):
    refused = await scene.set(name)
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert reason in refused.json()["error"]["message"]


async def test_a_secret_that_cannot_be_masked_is_refused_and_a_plain_variable_is_not(scene: Scene):
    refused = await scene.set("SHORT", "abc")
    assert "cannot be masked" in refused.json()["error"]["message"]
    assert (await scene.set("SHORT", "", plain=True)).is_success


async def test_a_refusal_does_not_repeat_the_secret(scene: Scene):
    refused = await scene.set("API_TOKEN", VALUE + "x" * 9000)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "value")
    assert VALUE not in refused.text


async def test_only_production_shares_with_previews(scene: Scene):
    refused = await scene.set("API_TOKEN", VALUE, scene.branch, previews=True)
    assert refused.json()["error"]["param"] == "previews"


async def test_a_secret_cannot_have_thousands_of_lines_that_builds_look_for(scene: Scene):
    many = "\n".join(f"{number:06}" for number in range(1000))
    refused = await scene.set("LINES", many)
    assert code_of(refused) == "secrets.exhausted"
    assert "Each further line of a secret counts as 250 bytes" in refused.json()["error"]["message"]
    assert (await scene.set("LINES", many, plain=True)).is_success, "nobody looks for a plain variable"
    assert (await scene.set("LINES", many[: 7 * 52])).is_success, "a private key has about fifty lines"


async def test_the_secrets_of_an_environment_are_bounded(scene: Scene):
    for number in range(4):
        assert (await scene.set(f"LARGE_{number}", "x" * 8000)).is_success
    assert code_of(await scene.set("LARGE_4", "x" * 8000)) == "secrets.exhausted"
    assert (await scene.set("LARGE_3", "x" * 4)).is_success, "replacing one makes room"
    assert (await scene.set("LARGE_4", "x" * 4000)).is_success
    async with scene.plane.database.transaction() as tx:
        for number in range(MAX_SECRETS - 5):
            await teams.insert_secret(tx, scene.production, f"SMALL_{number}")
    assert code_of(await scene.set("ONE_MORE")) == "secrets.exhausted"
    assert (await scene.set("SMALL_1", "replaced")).is_success
    assert len(await scene.listed()) == 50
