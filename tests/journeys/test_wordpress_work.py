"""Work on a WordPress site from outside: with a browser, the API, and the clients ssh, sftp and rsync."""

import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stead.dev.running_stack import RunningStack
from tests.journeys.browser import open_browser
from tests.journeys.customer import Customer
from tests.journeys.deliveries import built, deployed
from tests.journeys.managed_site import ManagedSite, front_page
from tests.journeys.ssh_client import SshClient
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import ADMIN, DOMAIN, WordPressSite
from tests.node.harness import until
from tests.patience import time_limit

pytestmark = pytest.mark.timeout(600)

OPEN = "Open until six"
PLUGIN = f"""<?php
/*
Plugin Name: Opening Hours
*/
add_action('wp_footer', function () {{ echo '{OPEN}'; }});
"""
SHOW_PHP = """<?php
add_action('wp_footer', function () { echo 'made with PHP ' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION; });
"""
NEEDS_NEW_PHP = "<?php if (PHP_SAPI !== 'cli') { fpow(1, 2); }"
"""A function that PHP has since 8.4, and that only requests of visitors use."""


@pytest.fixture(scope="module")
async def laptop(
    customer: Customer,
    stack: RunningStack,
    wordpress_site: WordPressSite,
    tmp_path_factory: pytest.TempPathFactory,
) -> SshClient:
    """Its key opens the site; the last test removes it."""
    home = tmp_path_factory.mktemp("laptop")
    return await SshClient.register(customer, stack, wordpress_site.path, home)


@pytest.fixture(scope="module")
async def staging(customer: Customer, wordpress_site: WordPressSite) -> AsyncIterator[str]:
    """The path of a staging environment with the data of production."""
    environments = f"{wordpress_site.path}/environments"
    created = await customer.does("POST", environments, {"type": "staging", "copy_uploads": True})
    path = f"{environments}/{created['result']['env_id']}"
    yield path
    await customer.does("DELETE", path)


async def test_a_link_opens_the_administration_and_a_new_password_replaces_the_old(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite, stack: RunningStack
) -> None:
    site, host = wordpress_site.path, DOMAIN
    await visitor.until(host, DOMAIN)
    link = await customer.post(f"{site}/magic-link", {"redirect_to": "/wp-admin/profile.php"})
    page, _, token = link["url"].partition("#")
    assert page == f"https://{host}/wp-login.php?action=stead-sign-in"
    # A program that follows the link does not use it up.
    path = page.removeprefix(f"https://{host}")
    assert (await visitor.get(host, path)).status == 200
    async with open_browser(stack.ports["edge_tls"]) as browser:
        await browser.open(link["url"])
        assert await browser.run("return document.referrer") == ""
        await browser.click("#sign-in")
        await browser.until("return location.pathname === '/wp-admin/profile.php' || null", "it is open")
        assert await browser.run("return document.getElementById('user_login').value") == ADMIN["username"]
        async with visitor.browser(host) as thief:
            replayed = await thief.post(path, data={"token": token})
            assert replayed.status_code == 403
            assert "set-cookie" not in replayed.headers

        new = await customer.post(f"{site}/admin-password/reset")
        assert new["username"] == ADMIN["username"]
        await customer.follow(new["job_id"])
        # The session that the link began has ended.
        await browser.open(f"https://{host}/wp-admin/")
        await browser.find("#wp-submit")
    async with visitor.browser(host) as person:
        for password, status in ((ADMIN["password"], 200), (new["password"], 302)):
            form = {"log": ADMIN["username"], "pwd": password, "wp-submit": "Log In", "testcookie": "1"}
            assert (await person.post("/wp-login.php", data=form)).status_code == status
        link = await customer.post(f"{site}/magic-link")
        signed_in = await person.post(path, data={"token": link["url"].partition("#")[2]})
        cookies = signed_in.headers.get_list("set-cookie")
        assert signed_in.status_code == 303
        assert all("secure" in each.lower() and "httponly" in each.lower() for each in cookies), cookies
    events = [each["event"] for each in await customer.get(f"{site}/audit")]
    assert events.count("site_magic_link") == events.count("site_magic_link_redeem") == 2
    assert events.count("admin_password_reset") == 1
    # Other journeys use the same site.
    ADMIN["password"] = new["password"]


async def test_a_plugin_is_tried_in_staging_and_pushed_while_production_goes_on(
    customer: Customer,
    visitor: Visitor,
    wordpress_site: WordPressSite,
    laptop: SshClient,
    staging: str,
    tmp_path: Path,
) -> None:
    host, other = wordpress_site.host, (await customer.get(staging))["subdomain"]
    production = f"{wordpress_site.path}/environments/production"
    archive = tmp_path / "opening-hours.zip"
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("opening-hours/opening-hours.php", PLUGIN)
    uploads = "/srv/site/wp-content/uploads"
    await (await laptop.at(customer, staging)).sftp(f"put {archive} {uploads}/")
    await customer.run(staging, "plugin", "install", f"{uploads}/{archive.name}", "--activate")
    await visitor.until(other, OPEN, "/?after=installation")
    assert OPEN not in (await visitor.get(host, "/?after=installation")).text

    # Meanwhile production goes on: a visitor writes a comment, a customer orders, an editor publishes.
    comment = {"comment_post_ID": "1", "author": "Ada", "email": "ada@example.com", "comment": "Until when?"}
    async with visitor.browser(host) as reader:
        assert (await reader.post("/wp-comments-post.php", data=comment)).status_code == 302
    for kind, title in (("shop_order", "Order 1"), ("post", "Latest news")):
        wanted = (f"--post_type={kind}", f"--post_title={title}", "--post_status=publish")
        await customer.run(production, "post", "create", *wanted)

    async with visitor.visiting(host) as seen:
        job = await customer.post(f"{staging}/push", {"mode": "full"})
        lines = (await customer.listen(job["id"])).lines
        await customer.follow(job["id"])
    assert {each.status for each in seen} == {200}
    reported = [
        "push: production has 1 new or changed comments: they are kept",
        "push: production has 1 new or changed posts of the type post: they would be lost",
        "push: production has 1 new or changed posts of the type shop_order: they are kept",
    ]
    assert [line for line in lines if line.startswith("push: production has")] == reported
    (stopped,) = (line for line in lines if line.startswith("push: production was stopped for"))
    assert lines.index(reported[-1]) < lines.index(stopped)

    await visitor.until(host, OPEN, "/?after=push")
    counted = [
        await customer.run(production, *words, "--format=count")
        for words in (
            ("post", "list", "--post_type=shop_order", "--title=Order 1"),
            ("comment", "list", "--author_email=ada@example.com"),
            ("post", "list", "--title=Latest news"),
        )
    ]
    assert counted == [["1"], ["1"], ["0"]]


async def test_a_branch_is_served_by_an_environment_of_its_own(
    customer: Customer, visitor: Visitor, managed_site: ManagedSite
) -> None:
    live, preview = ({"pattern": "main", "target": "live"}, {"pattern": "feature/*", "target": "preview"})
    forge = await managed_site.connect(customer, live, preview)
    before = (await visitor.get(managed_site.host, "/?before=branch")).text
    words = front_page("the menu of ', get_option('admin_email'), '")
    commit = managed_site.repository.commit("feature/menu", **words)
    (decision,) = await forge.tell("feature/menu", commit)
    assert decision["target"] == "preview"
    branch = f"{managed_site.path}/environments/{decision['env_id']}"
    await deployed(customer, branch, (await built(customer, branch, commit))["artifact_id"])
    found = await customer.get(branch)
    assert (found["type"], found["branch"]) == ("branch", "feature/menu")
    # The code is that of the branch, and the rows are those of production.
    await visitor.until(found["subdomain"], f"the menu of {ADMIN['email']}")
    assert (await visitor.get(managed_site.host, "/?after=branch")).text == before
    await customer.does("DELETE", branch)


async def test_php_is_switched_and_returns_from_a_version_that_breaks_the_site(
    customer: Customer,
    visitor: Visitor,
    wordpress_site: WordPressSite,
    laptop: SshClient,
    staging: str,
    tmp_path: Path,
) -> None:
    site, host = wordpress_site.path, wordpress_site.host
    other = (await customer.get(staging))["subdomain"]
    (tmp_path / "show-php.php").write_text(SHOW_PHP)
    (tmp_path / "needs-new-php.php").write_text(NEEDS_NEW_PHP)
    folder = "wp-content/mu-plugins"
    for client in (laptop, await laptop.at(customer, staging)):
        await client.sftp(f"-mkdir {folder}", f"put {tmp_path}/show-php.php {folder}/")
    async with visitor.visiting(host) as seen:
        await customer.does("POST", f"{site}/php-version", {"version": "8.4"})
        for each in (host, other):
            await visitor.until(each, "made with PHP 8.4", "/?after=switch")
        # The check passes, so production is switched. Then staging does not answer any more.
        await client.sftp(f"put {tmp_path}/needs-new-php.php {folder}/")
        switched = len(seen)
        job = await customer.post(f"{site}/php-version", {"version": "8.2"})
        failed = await customer.follow(job["id"], status="failed")
    assert failed["error"]["code"] == "php.unhealthy"
    assert {each.status for each in seen} == {200}
    for part in (seen[:switched], seen[switched:]):
        assert {each.text.rpartition("made with PHP ")[2][:3] for each in part} == {"8.2", "8.4"}
    assert (await customer.get(site))["php_version"] == "8.4"
    for each in (host, other):
        shown = await visitor.get(each, "/?after=return")
        assert (shown.status, "made with PHP 8.4" in shown.text) == (200, True)


async def test_a_person_enters_until_the_key_is_removed(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite, laptop: SshClient, tmp_path: Path
) -> None:
    site, host = wordpress_site.path, wordpress_site.host
    home = await laptop.ssh("wp", "option", "get", "home")
    assert (home.code, home.out) == (0, f"https://{DOMAIN}\n".encode()), home
    sent, back = tmp_path / "sent", tmp_path / "back"
    sent.mkdir()
    for name in ("one", "two"):
        (sent / f"{name}.txt").write_text(name)
    await laptop.rsync(f"{sent}/", "remote:wp-content/uploads/texts/")
    assert (await visitor.get(host, "/wp-content/uploads/texts/two.txt")).text == "two"
    await laptop.rsync("remote:wp-content/uploads/texts/", f"{back}/")
    assert {each.name: each.read_text() for each in back.iterdir()} == {"one.txt": "one", "two.txt": "two"}

    async with laptop.session("echo here; sleep 600") as session:
        assert session.stdout is not None
        async with time_limit(30):
            assert await session.stdout.readline() == b"here\n"
        job = await customer.put(f"{site}/ssh-keys", {"keys": []})
        async with time_limit(10):
            assert await session.wait() != 0
        await customer.follow(job["id"])
    refused = await laptop.ssh("true")
    assert (refused.code, "Permission denied" in refused.err) == (255, True), refused

    async def are_recorded() -> list[dict[str, Any]] | None:
        return await customer.get(f"{site}/audit?event=ssh.session") or None

    for entered in await until(are_recorded):
        assert (entered["actor_kind"], entered["meta"]["address"]) == ("member", "127.0.0.1")
