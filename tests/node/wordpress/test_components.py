"""Plugins are installed, updated and removed in a real WordPress; what breaks the site comes back at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stead.node.drivers.driver import Refusal
from stead.protocol.work.cms import AffectedVersions, ChangeComponents, ComponentChange
from stead.shared.component_versions import version_key
from tests.node.wordpress.component_server import ComponentServer, pack_plugin, pack_theme, serving_components
from tests.node.wordpress.test_questions import result
from tests.node.wordpress.wordpress_node import Site, WordPressNode

SAY = "add_action('wp_footer', function () {{ echo 'says {}'; }});"
BREAK = "add_action('template_redirect', function () { undefined_function(); });"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComponentServer]:
    with serving_components(tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture(scope="module")
async def site(node: WordPressNode, server: ComponentServer) -> AsyncIterator[Site]:
    made = await node.create()
    components = node.runtime.cms.components
    before, components.registry = components.registry, server.registry
    yield made
    components.registry = before
    await node.remove(made)


async def change(site: Site, *changes: ComponentChange) -> list[str]:
    """The reasons why changes failed; empty for those that were made."""
    work = ChangeComponents("cms", changes, site.host)
    done = await site.node.runtime.cms.change_components(site.assignment, work)
    return [each.reason for each in done.outcomes]


async def plugin(site: Site, slug: str) -> dict[str, Any] | None:
    found = (await result(site, "components.list"))["components"]
    return next((each for each in found if each["slug"] == slug), None)


@contextmanager
def recording_probe(site: Site) -> Iterator[dict[str, float]]:
    """When the files were installed, and when the earlier ones were back."""
    components, moments = site.node.runtime.cms.components, dict[str, float]()
    install_, return_ = components._install, components._return

    async def install(*args: Any) -> None:
        await install_(*args)
        moments["installed"] = time.monotonic()

    async def bring_back(*args: Any) -> None:
        await return_(*args)
        moments["returned"] = time.monotonic()

    components._install, components._return = install, bring_back  # type: ignore[method-assign,assignment]
    try:
        yield moments
    finally:
        components._install, components._return = install_, return_  # type: ignore[method-assign]


def install(slug: str, version: str = "", **more: Any) -> ComponentChange:
    return ComponentChange("install", "plugin", slug, version, **more)


async def test_a_plugin_is_installed_pinned_updated_switched_and_deleted(site: Site, server: ComponentServer):
    server.add("hours", "1.0", SAY.format("one"))
    server.add("hours", "2.0", SAY.format("two"))
    assert await change(site, install("hours", "1.0", activate=True)) == [""]
    found = await plugin(site, "hours")
    assert found is not None
    assert (found["version"], found["status"]) == ("1.0", "active")
    assert "says one" in (await site.get("/?after=install")).text
    assert await change(site, ComponentChange("update", "plugin", "hours")) == [""]
    assert "says two" in (await site.get("/?after=update")).text
    assert await change(site, ComponentChange("deactivate", "plugin", "hours")) == [""]
    assert "says" not in (await site.get("/?after=deactivation")).text
    assert await change(site, ComponentChange("activate", "plugin", "hours")) == [""]
    assert await change(site, ComponentChange("delete", "plugin", "hours")) == [""]
    assert await plugin(site, "hours") is None
    assert not list((site.paths.content / "uploads").glob(".stead-*"))


async def test_a_job_that_has_taken_too_long_begins_no_further_change(
    site: Site, server: ComponentServer, monkeypatch: pytest.MonkeyPatch
):
    """Code of the customer runs in it, and other customers wait for its place."""
    server.add("late", "1.0", SAY.format("late"))
    # The limit that ships is ten minutes.
    monkeypatch.setattr("stead.node.wordpress.components.JOB_SECONDS", 0.0)
    with pytest.raises(Refusal, match="took too long"):
        await change(site, install("late"))
    with pytest.raises(Refusal, match="none of the components"):
        await change(site, install("late"), install("late"))
    assert await plugin(site, "late") is None


async def test_an_update_that_breaks_the_site_is_taken_back_while_visitors_come(
    site: Site, server: ComponentServer, record_property: Any
):
    server.add("fragile", "1.0", SAY.format("fine"))
    await change(site, install("fragile", activate=True))
    server.add("fragile", "2.0", BREAK)
    seen: list[tuple[float, int]] = []
    ended = asyncio.Event()

    async def visit() -> None:
        while not ended.is_set():
            status = (await site.get(f"/?visit={len(seen)}", timeout=60)).status_code
            seen.append((time.monotonic(), status))

    visiting = asyncio.create_task(visit())
    with recording_probe(site) as moments, pytest.raises(Refusal) as refused:
        await change(site, ComponentChange("update", "plugin", "fragile"))
    ended.set()
    await visiting
    assert refused.value.code == "component.unhealthy"
    assert "undefined_function" in refused.value.reason
    found = await plugin(site, "fragile")
    assert found is not None
    assert (found["version"], found["status"]) == ("1.0", "active")
    assert "says fine" in (await site.get("/?after=return")).text
    failed = [moment for moment, status in seen if status >= 500]
    outage = failed[-1] - failed[0] if failed else 0.0
    # From the end of the installation until the earlier files are back: the probe, and the return.
    probe = moments["returned"] - moments["installed"]
    slowest = max(second[0] - first[0] for first, second in pairwise(seen))
    assert outage <= probe + 2 * slowest
    record_property("figure", f"components: broken update, {outage:.1f} s of errors, probe {probe:.1f} s")
    await change(site, ComponentChange("delete", "plugin", "fragile"))


async def test_several_changes_have_their_own_outcomes(site: Site, server: ComponentServer):
    server.add("first", "1.0")
    server.add("broken", "1.0", BREAK)
    await change(site, install("first"))
    outcomes = await change(
        site,
        ComponentChange("activate", "plugin", "first"),
        install("broken", activate=True),
        ComponentChange("activate", "plugin", "missing"),
    )
    assert outcomes[0] == ""
    assert "undefined_function" in outcomes[1]
    assert outcomes[2]
    assert await plugin(site, "broken") is None
    found = await plugin(site, "first")
    assert found is not None
    assert found["status"] == "active"
    await change(site, ComponentChange("delete", "plugin", "first"))


async def test_what_the_registry_sends_is_checked(site: Site, server: ComponentServer, tmp_path: Path):
    server.plugins["nothing"] = {"1.0": b"<html>not a zip</html>"}
    server.plugins["other"] = {"1.0": pack_plugin("elsewhere", "1.0")}
    server.add("real", "1.0")
    with pytest.raises(Refusal):
        await change(site, install("other"))
    assert await plugin(site, "elsewhere") is None
    archive = tmp_path / "archive.zip"
    for slug, version in (("unknown", ""), ("real", "9.9"), ("nothing", "")):
        with pytest.raises(Refusal):
            await server.registry.download("plugin", slug, version, archive)
    server.link_host = "https://169.254.169.254"
    with pytest.raises(Refusal) as refused:
        await server.registry.download("plugin", "real", "", archive)
    server.link_host = ""
    assert refused.value.code == "component.registry_failed"
    for slug in ("../../evil", "-rf", "--exec=x", "a b", ".", "a/../b", ""):
        with pytest.raises(Refusal):
            await change(site, install(slug))
    assert await plugin(site, "real") is None


async def test_a_theme_is_installed_activated_and_deleted(site: Site, server: ComponentServer):
    server.plugins["quiet"] = {"1.0": pack_theme("quiet", "1.0")}
    found = (await result(site, "components.list"))["components"]
    before = next(each for each in found if each["kind"] == "theme" and each["status"] == "active")["slug"]
    assert await change(site, ComponentChange("install", "theme", "quiet", activate=True)) == [""]
    assert "the theme speaks" in (await site.get("/?after=theme-installed")).text
    assert await change(site, ComponentChange("activate", "theme", before)) == [""]
    assert await change(site, ComponentChange("delete", "theme", "quiet")) == [""]
    assert "the theme speaks" not in (await site.get("/?after=theme-deleted")).text


async def test_a_vulnerable_version_is_not_installed(site: Site, server: ComponentServer):
    lowest, highest = version_key("1.0"), version_key("2.0")
    assert lowest is not None
    known = AffectedVersions("Anybody can sign in", lowest, True, highest, False, "2.0")
    server.add("holes", "0.9")
    server.add("holes", "1.5")
    # The latest version, a pinned one, and an archive that only its own files describe.
    renamed = pack_plugin("holes", "1.5")
    for refused in (install("holes", refused=(known,)), install("holes", "1.5", refused=(known,))):
        with pytest.raises(Refusal) as found:
            await change(site, refused)
        assert found.value.code == "component.vulnerable"
        assert "2.0" in found.value.reason
    server.plugins["holes"]["0.9"] = renamed
    with pytest.raises(Refusal) as found:
        await change(site, install("holes", "0.9", refused=(known,)))
    assert found.value.code == "component.vulnerable"
    assert await plugin(site, "holes") is None
    server.add("holes", "2.0")
    assert await change(site, install("holes", "2.0", refused=(known,))) == [""]
    assert await change(site, install("holes", "1.5")) == [""]
    await change(site, ComponentChange("delete", "plugin", "holes"))


async def test_the_active_theme_stays(site: Site):
    found = (await result(site, "components.list"))["components"]
    active = next(each for each in found if each["kind"] == "theme" and each["status"] == "active")
    for action in ("delete", "deactivate"):
        with pytest.raises(Refusal):
            await change(site, ComponentChange(action, "theme", active["slug"]))
    assert (await site.get("/?after=theme")).status_code == 200
