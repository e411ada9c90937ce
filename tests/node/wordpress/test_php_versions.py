"""The version of PHP of a site is switched: checked first, while visitors are served, and never half."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from stead.node.drivers.driver import Refusal
from stead.node.hosting.environment import WakeFailed
from stead.node.images.image_store import ImageStore
from stead.node.wordpress.release_layout import FILE, ReleaseLayout
from stead.node.wordpress.spec import WordPressSpec
from stead.protocol.work.hosting import CheckPhp, SuspendEnvironment, SwitchPhp
from tests.node.layer_server import LayerServer, serve_layers
from tests.node.wordpress.wordpress_node import Site, WordPressNode

OLD, NEW = "8.2", "8.4"
SHOW_VERSION = "echo PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;"
POLYFILL = "function fpow(float $number, float $exponent) { return $number ** $exponent; }"
"""A fatal error since PHP 8.4, which has this function itself."""


@pytest.fixture(scope="module")
def layers() -> Iterator[LayerServer]:
    with serve_layers() as server:
        yield server


@pytest.fixture(scope="module")
async def switched(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    made.put_script("version.php", SHOW_VERSION)
    yield made
    await node.remove(made)


@pytest.fixture
async def blog(switched: Site) -> Site:
    """A site with the old version that is awake and has no plugins."""
    _activate(switched)
    await _switch(switched, OLD, restore=True)
    await switched.node.runtime.wake(switched.environment)
    switched.node.output.lines.clear()
    return switched


def _activate(site: Site, *plugins: str) -> None:
    names = "".join(f'i:{number};s:{len(name)}:"{name}";' for number, name in enumerate(plugins))
    value = f"a:{len(plugins)}:{{{names}}}"
    site.query(
        f"update {{schema}}.wp_options set option_value = '{value}' where option_name = 'active_plugins'"
    )


async def _check(site: Site, php: str, **options: bool) -> None:
    await site.node.runtime.check_php(site.assignment, CheckPhp("cms", php, site.host, **options))


async def _switch(site: Site, php: str, *, restore: bool = False) -> None:
    await site.node.runtime.switch_php(site.assignment, SwitchPhp("cms", php, restore))


async def _refusal(work: "asyncio.Future[None] | asyncio.Task[None]") -> Refusal:
    with pytest.raises(Refusal) as refused:
        await work
    return refused.value


async def _version(site: Site) -> str:
    return (await site.get("/wp-content/plugins/version.php")).text


def _spec(site: Site) -> WordPressSpec:
    found = site.node.runtime.environments.state.find_spec(site.environment)
    assert found is not None
    return found


def _is_held(site: Site, php: str) -> bool:
    images = ImageStore()
    return site.environment in images.holders(images.find(f"php{php}"))


@asynccontextmanager
async def _visitors(site: Site) -> AsyncIterator[set[tuple[int, str]]]:
    """What visitors get from the beginning of the block to its end: the status, and the version they see."""
    seen: set[tuple[int, str]] = set()
    ended = asyncio.Event()

    async def visit(visitor: int) -> None:
        for number in itertools.count():
            if ended.is_set():
                return
            answer = await site.get("/wp-content/plugins/version.php")
            seen.add((answer.status_code, answer.text))
            page = await site.get(f"/?visitor={visitor}&number={number}")
            seen.add((page.status_code, ""))

    visitors = [asyncio.create_task(visit(number)) for number in range(3)]
    try:
        yield seen
    finally:
        ended.set()
        await asyncio.gather(*visitors)


async def test_visitors_are_served_while_the_version_is_switched_and_switched_back(blog: Site):
    async with _visitors(blog) as seen:
        await _check(blog, NEW)
        assert await _version(blog) == OLD
        await _switch(blog, NEW)
        assert await _version(blog) == NEW
        assert _is_held(blog, NEW)
        assert _is_held(blog, OLD), "the switch may be undone"
        await _switch(blog, OLD, restore=True)
        assert await _version(blog) == OLD
        assert not _is_held(blog, NEW)
    assert seen == {(200, OLD), (200, NEW), (200, "")}


async def test_a_switch_back_remembers_the_version_that_it_leaves(blog: Site):
    """An agent that is stopped before it has checked the new version returns to this one."""
    await _switch(blog, NEW)
    await _switch(blog, OLD)
    assert (_spec(blog).settings.php, _spec(blog).previous_php) == (OLD, NEW)
    await _switch(blog, NEW)


async def test_a_version_on_which_the_site_fails_is_refused_before_visitors_see_it(blog: Site):
    blog.put_script("polyfill.php", POLYFILL)
    _activate(blog, "polyfill.php")
    async with _visitors(blog) as seen:
        refused = await _refusal(asyncio.ensure_future(_check(blog, NEW)))
    assert refused.code == "php.unhealthy"
    assert "Cannot redeclare" in refused.reason
    assert "plugins/polyfill.php:2" in refused.reason
    assert seen == {(200, OLD), (200, "")}
    assert not (blog.paths.memory / "probe").exists()


async def test_a_site_that_fails_on_both_versions_may_be_switched(blog: Site):
    blog.put_script("broken.php", "missing_function();")
    _activate(blog, "broken.php")
    await _check(blog, NEW)
    assert any("fails with both versions" in line for line in blog.node.output.lines)
    await _switch(blog, NEW)
    assert _spec(blog).settings.php == NEW


async def test_a_site_that_fails_only_when_visitors_come_returns_to_the_old_version(blog: Site):
    blog.put_script("fpm.php", f"if (PHP_SAPI !== 'cli' && PHP_VERSION_ID >= 80400) {{ {POLYFILL} }}")
    _activate(blog, "fpm.php")
    await _check(blog, NEW)
    refused = await _refusal(asyncio.ensure_future(_switch(blog, NEW)))
    assert refused.code == "php.unhealthy"
    assert (await blog.get("/?after=return")).status_code == 200
    assert await _version(blog) == OLD
    assert (_spec(blog).settings.php, _spec(blog).previous_php) == (OLD, "")


async def test_the_requirements_of_active_plugins_are_respected_unless_forced(blog: Site):
    await _switch(blog, NEW)
    for name in ("needs", "unused"):
        blog.put_script(f"{name}.php", f"/*\nPlugin Name: {name}\nRequires PHP: {NEW}\n*/")
    _activate(blog, "needs.php")
    refused = await _refusal(asyncio.ensure_future(_check(blog, OLD)))
    assert refused.code == "php.incompatible"
    assert refused.reason == f"{blog.host} cannot run on PHP {OLD}: the plugin needs.php requires php >={NEW}"
    await _check(blog, OLD, force=True)
    assert "probe: the front page was answered 200" in blog.node.output.lines
    blog.node.output.lines.clear()
    await _check(blog, OLD, force=True, probe=False)
    old, new = (ImageStore().find(f"php{php}").metadata.digest for php in (OLD, NEW))
    assert blog.node.output.lines == [
        f"php: {blog.host}: php{NEW} {new} -> php{OLD} {old}",
        f"php: the plugin needs.php requires php >={NEW}",
    ]


async def test_a_sleeping_site_is_probed_and_goes_on_sleeping(blog: Site):
    await blog.hosted.sleep()
    await _check(blog, NEW)
    await _switch(blog, NEW)
    assert blog.hosted.state == "asleep"
    assert await _version(blog) == NEW


async def test_a_suspended_site_gets_the_version_and_stays_suspended(node: WordPressNode, blog: Site):
    await node.runtime.suspend_environment(blog.assignment, SuspendEnvironment("cms"))
    await _check(blog, NEW)
    await _switch(blog, NEW)
    assert blog.hosted.state == "suspended"
    await node.stop_agent()
    await node.start_agent()
    with pytest.raises(WakeFailed):
        await node.runtime.wake(blog.environment)
    assert _spec(blog).settings.php == NEW
    await node.ensure(blog, php=NEW, admin_password="")
    assert await _version(blog) == NEW


async def test_a_version_without_an_image_is_refused(blog: Site):
    for work in (_check(blog, "8.9"), _switch(blog, "8.9")):
        refused = await _refusal(asyncio.ensure_future(work))
        assert refused.code == "runtime.unsupported"
    assert await _version(blog) == OLD


async def test_an_environment_that_is_not_here_is_made_with_the_new_version_later(node: WordPressNode):
    missing = Site(node, "env_01k9zy3v7d00r3m8w5x2t6b4qy", "missing.example.com")
    await _check(missing, NEW)
    await _switch(missing, NEW)


CONSTRAINTS = {
    # Constraint: whether PHP 8.2 and PHP 8.4 fulfil it.
    "*": (True, True),
    "^8.2": (True, True),
    "~8.2": (True, True),
    "~8.2.0": (True, False),
    "8.2.*": (True, False),
    ">=8.1 <8.4": (True, False),
    ">=8.1,<8.4": (True, False),
    ">= 8.1 , < 8.4": (True, False),
    "^7.4 || ^8.0 <8.3": (True, False),
    "^7.4|8.2.*": (True, False),
    "8.0 - 8.3": (True, False),
    "8.0 - 8": (True, True),
    "!=8.4.*": (True, True),
    ">8.2": (True, True),
    "<=8.3.99": (True, False),
    ">=5.6": (True, True),
    "<9": (True, True),
    "~8.2.0 || ~8.4.0": (True, True),
}


THEME = {
    FILE: msgspec.json.encode(ReleaseLayout(stylesheet="own", template="own")).decode(),
    "wp-content/uploads/.keep": "",
    "wp-content/themes/own/style.css": "/*\nTheme Name: Own\n*/",
    "wp-content/themes/own/index.php": f"<?php {SHOW_VERSION}",
}


@pytest.fixture(scope="module")
async def managed(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create(git_managed=True)
    yield made
    await node.remove(made)


async def test_the_constraints_of_composer_packages_are_respected(
    node: WordPressNode, managed: Site, layers: LayerServer
):
    packages = [
        {"name": f"test/number-{number}", "require": {"php": constraint, "ext-json": "*", "ext-fast": "*"}}
        for number, constraint in enumerate(CONSTRAINTS)
    ]
    packages.append({"name": "test/polyfill", "provide": {"ext-fast": "*"}, "require": {"test/other": "^1"}})
    release = layers.offer(
        {
            **THEME,
            "composer.json": json.dumps({"require": {"php": "8.2.* ", "ext-missing": "*"}}),
            "composer.lock": json.dumps({"packages": packages, "platform": {"php": "8.2.*"}}),
        },
        "cms",
    )
    await node.deploy(managed, release)
    node.output.lines.clear()
    refused = await _refusal(asyncio.ensure_future(_check(managed, NEW)))
    assert refused.code == "php.incompatible"
    unmet = [line.removeprefix("php: ") for line in node.output.lines if " requires " in line]
    assert refused.reason.partition(": ")[2].split("; ") == [*unmet[:5], f"and {len(unmet) - 5} more"]
    assert unmet == [
        # What the current version does not fulfil either, such as ext-missing, is no reason to stay on it.
        "the project requires php 8.2.* ",
        *(
            f"test/number-{number} requires php {constraint}"
            for number, (constraint, allowed) in enumerate(CONSTRAINTS.items())
            if not allowed[1]
        ),
    ]
    await _check(managed, NEW, force=True)
    await _switch(managed, NEW)
    assert (await managed.get("/?r=1")).text == NEW


HUGE = '{"packages": [' + ",".join(['{"a":{"b":{}}}'] * 600_000) + "]}"
"""More than PHP can read in its memory."""
MANY = {"require": {f"ext-missing{number}": "*" for number in range(30)} | {"php": "8.2.*"}}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("composer.lock", HUGE, "what its code requires is not known: PHP ended with 255"),
        ("composer.lock", "{", "what its code requires is not known: composer.lock cannot be read"),
        ("composer.json", json.dumps(MANY), "the project requires php 8.2.*"),
    ],
    ids=["huge", "malformed", "after many others"],
)
async def test_what_composer_requires_must_be_known_unless_forced(
    node: WordPressNode, managed: Site, layers: LayerServer, name: str, content: str, reason: str
):
    await node.deploy(managed, layers.offer({**THEME, name: content}, "cms"))
    await _switch(managed, OLD)
    refused = await _refusal(asyncio.ensure_future(_check(managed, NEW)))
    assert (refused.code, refused.reason) == (
        "php.incompatible",
        f"{managed.host} cannot run on PHP {NEW}: {reason}",
    )
    node.output.lines.clear()
    await _check(managed, NEW, force=True, probe=False)
    assert f"php: {reason}" in node.output.lines
