"""A WordPress site from outside: created, used in a browser, restarted, rebooted, deleted, recovered."""

import asyncio
import itertools
import shutil
import zipfile
from pathlib import Path

import httpx
import pytest

from stead.dev.engines.mariadb import MariaDb
from stead.dev.engines.nginx import Nginx
from stead.dev.programs import Api, NodeAgent, Worker
from stead.dev.running_stack import RunningStack
from stead.node.containers.disks import unmount_below
from stead.node.containers.limits import MEMORY
from stead.node.containers.runc import remove_leftover_containers
from stead.node.wordpress.paths import container_prefix
from tests.git_server import GitServer
from tests.journeys.browser import Browser, open_browser
from tests.journeys.customer import Customer
from tests.journeys.deliveries import built, deployed
from tests.journeys.forge import Forge
from tests.journeys.managed_site import create_from_git, front_page
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import ADMIN, DOMAIN, WordPressSite
from tests.node.builds.wordpress_sites import composer_site
from tests.node.harness import until


@pytest.mark.timeout(600)
async def test_a_wordpress_site_is_created_used_deleted_and_recovered(
    customer: Customer,
    visitor: Visitor,
    wordpress_site: WordPressSite,
    stack: RunningStack,
    tmp_path: Path,
) -> None:
    site, host = wordpress_site.path, wordpress_site.host
    first = await visitor.until(host, DOMAIN)
    assert first.status == 200
    assert f"https://{host}/" in first.text

    async with open_browser(stack.ports["edge_tls"]) as browser:
        await _sign_in(browser, host)
        post = await _publish(browser, host, "Hello from outside")
        await _install_plugin(browser, host, tmp_path)
        picture = await _upload_picture(browser, host, tmp_path)
        await browser.open(f"https://{host}/{post}/")
        await browser.until_reads("Hello from outside")
    await visitor.until(host, "Hello from outside", f"/{post}/")
    assert (await visitor.get(host, f"/{post}/")).headers["x-cache"] == "HIT"
    assert (await visitor.get(host, picture)).status == 200
    await _change(visitor, host, post, "Second thoughts")
    await visitor.until(host, "Second thoughts", f"/{post}/")
    await visitor.until(host, "Second thoughts", "/feed/")

    await customer.does("POST", f"{site}/restart")
    await visitor.until(host, "Hello from outside", f"/{post}/?after=restart")

    for program in (Api, Worker):
        await stack.stop(program)
    await _reboot_node(stack)
    await visitor.until(host, "Hello from outside", f"/{post}/?after=reboot")
    for program in (Api, Worker):
        await stack.start(program)

    await customer.does("DELETE", site, {"confirm_domain": DOMAIN})

    async def is_gone() -> bool | None:
        try:
            return (await visitor.get(host, f"/{post}/")).status == 404 or None
        except httpx.ConnectError:
            return True

    await until(is_gone, 60)
    await customer.does("POST", f"{site}/recover")
    await visitor.until(host, "Hello from outside", f"/{post}/?after=recovery")
    assert (await visitor.get(host, picture)).status == 200
    assert "greeting by a plugin" in (await visitor.get(host, f"/{post}/?after=recovery")).text


@pytest.mark.timeout(600)
async def test_a_git_managed_site_is_built_deployed_broken_and_rolled_back(
    customer: Customer, visitor: Visitor, git_server: GitServer
) -> None:
    repository = git_server.create("blog.git")
    first = repository.commit(**(composer_site() | front_page("first words, ', greeting(), '")))
    site = await create_from_git(customer, repository, "from-git.example.com")
    production = f"{site}/environments/production"
    host = (await customer.get(production))["subdomain"]
    await visitor.until(host, "wp-submit", "/wp-login.php")
    build = await built(customer, production, first)
    assert build["builder"] == "cms"
    await deployed(customer, production, build["artifact_id"])
    await visitor.until(host, "first words, from a package")
    (artifact,) = await customer.get(f"{production}/artifacts")
    assert artifact["serve_model"] == "container"

    # A push is built and live by itself.
    routes = {"rules": [{"pattern": "main", "target": "live"}], "roll_hook_secret": True}
    connection = await customer.put(f"{site}/branch-routes", routes)
    forge = Forge(connection["hook_url"], connection["hook_secret"], repository.url)
    second = repository.commit(**front_page("second words"))
    await forge.tell("main", second, before=first)
    await deployed(customer, production, (await built(customer, production, second))["artifact_id"])
    await visitor.until(host, "second words")

    # Broken code fails its deployment with the error of PHP, and visitors never see it.
    third = repository.commit(**front_page("', missing_function(), '"))
    await forge.tell("main", third, before=second)
    artifact_id = (await built(customer, production, third))["artifact_id"]
    failed = await deployed(customer, production, artifact_id, status="failed")
    error = (await customer.get(f"/v1/jobs/{failed['job_id']}"))["error"]
    assert error["code"] == "deploy.unhealthy"
    assert "Call to undefined function missing_function()" in error["message"]
    page = await visitor.get(host, "/?after=failure")
    assert (page.status, page.text) == (200, "second words")

    releases = await customer.get(f"{production}/releases")
    assert [each["current"] for each in releases] == [True, False]
    await customer.does("POST", f"{production}/deployments/{releases[1]['id']}/rollback")
    assert (await visitor.get(host, "/?after=rollback")).text == "first words, from a package"
    await customer.does("POST", f"{site}/restart")
    assert (await visitor.get(host, "/?after=restart")).text == "first words, from a package"

    # Staging begins with the release and the rows of production. What is tried there is promoted as it is.
    created = await customer.does("POST", f"{site}/environments", {"type": "staging"})
    staging = f"{site}/environments/{created['result']['env_id']}"
    other = (await customer.get(staging))["subdomain"]
    await visitor.until(other, "first words, from a package")
    artifact_id = releases[0]["artifact_id"]
    await customer.does("POST", f"{staging}/deployments", {"artifact_id": artifact_id})
    assert (await visitor.get(other, "/?after=deployment")).text == "second words"
    assert (await visitor.get(host, "/?after=deployment")).text == "first words, from a package"
    await customer.does("POST", f"{staging}/promote", {"to_env": "production"})
    assert (await visitor.get(host, "/?after=promotion")).text == "second words"
    await customer.does("POST", f"{production}/deployments/{releases[1]['id']}/rollback")
    await customer.does("POST", f"{staging}/refresh")
    assert (await visitor.get(other, "/?after=refresh")).text == "first words, from a package"
    await customer.does("POST", f"{production}/promote", {"to_env": created["result"]["env_id"]})

    fourth = repository.commit(**front_page(f"PHP ', {VERSION}, '"))
    await forge.tell("main", fourth, before=third)
    await deployed(customer, production, (await built(customer, production, fourth))["artifact_id"])
    await _switch_php(customer, visitor, site, host, other)
    await customer.does("DELETE", staging)


VERSION = """PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION
    . (get_option('needs_new_php') && fpow(1, 2) ? '' : '')"""
"""The version of PHP. With the option, the page uses a function that PHP has since 8.4."""


async def _switch_php(customer: Customer, visitor: Visitor, site: str, host: str, staging: str) -> None:
    """To a newer version; and back to the older one, on which the site fails by then. None of its visitors
    notices."""
    seen: set[tuple[int, str]] = set()

    async def visit() -> None:
        async with visitor.browser(host) as browser:
            for number in itertools.count():
                page = await browser.get(f"/?visit={number}")
                seen.add((page.status_code, page.text))

    visits = asyncio.create_task(visit())
    path = f"{site}/php-version"
    planned = await customer.post(path, {"version": "8.4", "dry_run": True})
    assert (planned["from_image"], planned["to_image"]) == ("php8.2", "php8.4")
    assert [env["type"] for env in planned["environments"]] == ["production", "staging"]
    assert planned["would_apply"]
    assert (await customer.get(site))["php_version"] == "8.2"
    await customer.does("POST", path, {"version": "8.4"})
    assert (await visitor.get(host, "/?after=switch")).text == "PHP 8.4"
    assert (await customer.get(site))["php_version"] == "8.4"

    command = {"args": ["option", "add", "needs_new_php", "1"]}
    await customer.does("POST", f"{site}/environments/production/exec", command)
    job = await customer.post(path, {"version": "8.2"})
    failed = await customer.follow(job["id"], status="failed")
    assert failed["error"]["code"] == "php.unhealthy"
    assert "Call to undefined function fpow()" in failed["error"]["message"]
    assert (await visitor.get(host, "/?after=return")).text == "PHP 8.4"
    assert (await customer.get(site))["php_version"] == "8.4"
    visits.cancel()
    await asyncio.wait({visits})
    assert visits.cancelled()
    assert seen == {(200, "PHP 8.2"), (200, "PHP 8.4")}


async def _change(visitor: Visitor, host: str, slug: str, content: str) -> None:
    async with visitor.browser(host) as browser:
        nonce = await _sign_in_to_api(browser)
        (post,) = (await browser.get(f"/wp-json/wp/v2/posts?slug={slug}", headers=nonce)).json()
        address = f"/wp-json/wp/v2/posts/{post['id']}"
        changed = await browser.post(address, json={"content": content}, headers=nonce)
        assert changed.status_code == 200, changed.text


async def _sign_in_to_api(browser: httpx.AsyncClient) -> dict[str, str]:
    """Sign in as the administrator, and return the headers of further requests to the API of WordPress."""
    form = {"log": ADMIN["username"], "pwd": ADMIN["password"], "wp-submit": "Log In", "testcookie": "1"}
    signed_in = await browser.post("/wp-login.php", data=form)
    assert signed_in.status_code == 302, signed_in.text
    return {"x-wp-nonce": (await browser.get("/wp-admin/admin-ajax.php?action=rest-nonce")).text}


async def _sign_in(browser: Browser, host: str) -> None:
    await browser.open(f"https://{host}/wp-login.php")
    await browser.type("#user_login", ADMIN["username"])
    await browser.type("#user_pass", ADMIN["password"])
    await browser.click("#wp-submit")
    await browser.until("return location.pathname.startsWith('/wp-admin/') || null", "the dashboard is open")


async def _publish(browser: Browser, host: str, title: str) -> str:
    """Write and publish a post in the editor, and return its slug."""
    await browser.open(f"https://{host}/wp-admin/post-new.php")
    await browser.until("return wp.data.select('core/editor').getCurrentPostId()", "the editor is ready")
    await browser.run(
        "const editor = wp.data.dispatch('core/editor');"
        " editor.editPost({ title: arguments[0], content: 'First words', status: 'publish' });"
        " await editor.savePost();",
        title,
    )
    published = "const post = wp.data.select('core/editor').getCurrentPost();"
    return str(
        await browser.until(f"{published} return post.status === 'publish' && post.slug", "it is published")
    )


async def _install_plugin(browser: Browser, host: str, directory: Path) -> None:
    """A plugin that adds a sentence to every page."""
    code = "add_action('wp_footer', function () { echo 'greeting by a plugin'; });"
    archive = directory / "greeting.zip"
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("greeting/greeting.php", f"<?php\n/*\nPlugin Name: Greeting\n*/\n{code}\n")
    await browser.open(f"https://{host}/wp-admin/plugin-install.php?tab=upload")
    await browser.type("#pluginzip", str(archive))
    await browser.click("#install-plugin-submit")
    await browser.until_reads("Plugin installed successfully")
    await browser.open(str(await browser.run("return document.querySelector('a.button-primary').href")))
    await browser.until("return location.pathname.endsWith('/plugins.php') || null", "it is active")


async def _upload_picture(browser: Browser, host: str, directory: Path) -> str:
    """Upload a picture to the library, and return its path."""
    picture = directory / "dot.png"
    picture.write_bytes(await browser.picture())
    await browser.open(f"https://{host}/wp-admin/media-new.php?browser-uploader=1")
    await browser.type("#async-upload", str(picture))
    await browser.click("#html-upload")
    await browser.until("return location.pathname.endsWith('/upload.php') || null", "it is uploaded")
    found = await browser.run("return (await (await fetch('/wp-json/wp/v2/media')).json())[0].source_url")
    return str(found).partition(host)[2]


async def _reboot_node(stack: RunningStack) -> None:
    """All processes of the node are killed, and what it had mounted and in memory is gone."""
    for program in (NodeAgent, MariaDb, Nginx):
        await stack.kill(program)
    await asyncio.to_thread(_forget_memory, stack.node_data)
    for program in (Nginx, MariaDb, NodeAgent):
        await stack.start(program)


def _forget_memory(data: Path) -> None:
    remove_leftover_containers(data / "hosting" / "runc", container_prefix(data))
    unmount_below(data)
    for memory in MEMORY.glob(f"{container_prefix(data)}*"):
        shutil.rmtree(memory)
