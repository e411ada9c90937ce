"""Who may see and change plugins and themes."""

from pathlib import Path

from stead.control.app import ControlPlane
from tests.answering_node import answering_site
from tests.client import code_of
from tests.control.vulnerabilities.test_feed import record
from tests.control.vulnerabilities.test_matching import update_feed
from tests.people import Person


async def _ids(person: Person, site: str) -> dict[str, str]:
    found = (await person.session.get(f"/v1/sites/{site}/components")).json()["data"]
    return {each["kind"]: each["id"] for each in found}


async def test_a_key_sees_only_the_kinds_that_it_may_read(person: Person):
    site = await answering_site(person, {})
    path = f"/v1/sites/{site}/components"
    plugins, themes = await person.key("cms.plugins:read"), await person.key("cms.themes:read")
    assert {each["kind"] for each in (await plugins.get(path)).json()["data"]} == {"plugin"}
    assert {each["kind"] for each in (await themes.get(path)).json()["data"]} == {"theme"}
    refused = await themes.get(path, params={"kind": "plugin"})
    assert code_of(refused) == "scope.insufficient"
    assert "cms.plugins:read" in refused.json()["error"]["message"]


async def test_the_kind_of_a_component_decides_which_scope_changes_it(person: Person):
    site = await answering_site(person, {})
    ids, themes = await _ids(person, site), await person.key("cms.themes:write")
    path = f"/v1/sites/{site}/components"
    change = {"version": "latest"}
    assert code_of(await themes.patch(f"{path}/{ids['plugin']}", json=change)) == "scope.insufficient"
    assert code_of(await themes.delete(f"{path}/{ids['plugin']}")) == "scope.insufficient"
    assert (await themes.patch(f"{path}/{ids['theme']}", json=change)).status_code == 202
    batch = {"operations": [{"action": "update", "kind": kind, "slug": "x"} for kind in ("theme", "plugin")]}
    assert code_of(await themes.post(f"{path}:batch", json=batch)) == "scope.insufficient"


async def test_what_cannot_be_changed_is_refused(person: Person, stranger: Person):
    site = await answering_site(person, {})
    ids, client, path = await _ids(person, site), person.session, f"/v1/sites/{site}/components"
    assert code_of(await client.delete(f"{path}/{ids['theme']}")) == "component.fixed"
    assert code_of(await client.delete(f"{path}/comp_p{'0' * 25}")) == "component.not_found"
    assert code_of(await client.delete(f"{path}/comp_x{'0' * 25}")) == "component.not_found"
    assert code_of(await client.patch(f"{path}/{ids['plugin']}", json={})) == "request.field_invalid"
    theirs = await answering_site(stranger, {})
    other = (await _ids(stranger, theirs))["plugin"]
    assert code_of(await client.delete(f"{path}/{other}")) == "component.not_found"
    refused = await client.post(path, json={"kind": "module", "slug": "x"})
    assert code_of(refused) == "capability.unsupported"
    for source in ("upl_00000000000000000000000000", "https://example.com/x.zip"):
        refused = await client.post(path, json={"kind": "plugin", "slug": "x", "source": source})
        assert code_of(refused) == "request.field_invalid"
    async with person.transaction() as tx:
        await tx.run("update sites set git_repo = 'https://git.example.com/x.git' where id = $1", site)
    refused = await client.post(path, json={"kind": "plugin", "slug": "x"})
    assert code_of(refused) == "component.managed_in_git"


async def test_a_theme_is_installed_with_the_scopes_of_plugins_and_themes(person: Person):
    site = await answering_site(person, {})
    path, theme = f"/v1/sites/{site}/components", {"kind": "theme", "slug": "quiet"}
    plugins = await person.key("cms.plugins:write")
    assert code_of(await plugins.post(path, json=theme)) == "scope.insufficient"
    both = await person.key("cms.plugins:write", "cms.themes:write")
    assert (await both.post(path, json=theme)).status_code == 202


async def test_a_version_with_a_known_vulnerability_needs_force(
    plane: ControlPlane, person: Person, tmp_path: Path
):
    site = await answering_site(person, {})
    slug, client, path = site[-12:].lower(), person.session, f"/v1/sites/{site}/components"
    await update_feed(plane, tmp_path / "feed", record(f"known-{slug}", slug))
    wanted = {"kind": "plugin", "slug": slug, "version": "1.2.3"}
    refused = await client.post(path, json=wanted)
    assert code_of(refused) == "component.vulnerable"
    assert "1.2.4" in refused.json()["error"]["message"]
    batch = {"operations": [{"action": "update", "kind": "plugin", "slug": slug, "version": "1.2.3"}]}
    assert code_of(await client.post(f"{path}:batch", json=batch)) == "component.vulnerable"
    assert (await client.post(path, json=wanted | {"version": "1.2.4"})).status_code == 202
    assert (await client.post(path, json=wanted | {"force": True})).status_code == 202
