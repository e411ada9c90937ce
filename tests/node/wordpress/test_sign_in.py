"""The page of a sign-in link in a real WordPress: what signs in, what does not, and what is left of it."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from hashlib import sha256

import httpx
import pytest

from stead.node.drivers.driver import Refusal
from stead.node.wordpress import sign_ins
from stead.node.wordpress.agent_socket import SignInMessage
from stead.protocol.sign_ins import SignIn
from stead.protocol.work.access import SetPassword
from tests.node.wordpress.test_purges import SAY
from tests.node.wordpress.wordpress_node import PASSWORD, Site, WordPressNode

PAGE = "/wp-login.php?action=stead-sign-in"
LOAD = 'require "/srv/site/wp-load.php";'
HASH = "$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0"
"""Of `test12345`."""


@dataclass
class ControlPlane:
    """Knows the links of a test, and what the node has asked about."""

    links: dict[bytes, tuple[str, str, SignIn]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    silent: bool = False

    def create(self, site: Site, user: str = "admin", redirect_to: str = "/wp-admin/") -> str:
        token = secrets.token_urlsafe(32)
        self.links[sha256(token.encode()).digest()] = (site.environment, site.host, SignIn(user, redirect_to))
        return token

    async def ask(self, environment: str, host: str, token_hash: bytes) -> SignIn | None:
        self.asked.append((environment, host))
        if self.silent:
            return None
        found = self.links.get(token_hash)
        if found is None or found[:2] != (environment, host):
            return SignIn()
        del self.links[token_hash]
        return found[2]


@pytest.fixture(scope="module")
async def site(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    yield made
    await node.remove(made)


@pytest.fixture
def control(node: WordPressNode, monkeypatch: pytest.MonkeyPatch) -> ControlPlane:
    made = ControlPlane()
    monkeypatch.setattr(node, "ask_sign_in", made.ask)
    # A test uses more links than a person.
    monkeypatch.setattr(sign_ins, "BURST", 1000)
    monkeypatch.setattr(sign_ins, "SITE_BURST", 1000)
    return made


async def press(client: httpx.AsyncClient, token: object, **headers: str) -> httpx.Response:
    """What the browser sends when the button is pressed."""
    return await client.post(PAGE, data={"token": token}, headers=headers)


def is_signed_in(response: httpx.Response) -> bool:
    return any("wordpress_logged_in" in each for each in response.headers.get_list("set-cookie"))


async def test_the_button_signs_in_once(site: Site, control: ControlPlane):
    site.put_mu_plugin(
        "record.php",
        'add_action("wp_login", fn ($name, $user) => update_option("seen", "$name $user->ID"), 10, 2);',
    )
    token = control.create(site, redirect_to="/wp-admin/options-general.php?page=x")
    async with site.client() as browser:
        signed_in = await press(browser, token, **{"sec-fetch-site": "same-origin"})
        assert signed_in.status_code == 303
        assert signed_in.headers["location"] == f"http://{site.host}/wp-admin/options-general.php?page=x"
        assert is_signed_in(signed_in)
        assert signed_in.headers["referrer-policy"] == "no-referrer"
        assert "no-store" in signed_in.headers["cache-control"]
        dashboard = await browser.get("/wp-admin/")
        assert dashboard.status_code == 200
        assert "Dashboard" in dashboard.text
    assert (await site.run_php(f'{LOAD} echo get_option("seen");')) == "admin 1"
    async with site.client() as thief:
        replayed = await press(thief, token)
        assert replayed.status_code == 403
        assert not is_signed_in(replayed)
        assert (await thief.get("/wp-admin/")).status_code == 302
    assert token not in replayed.text
    # The edge and PHP have logged these requests.
    assert token not in site.node.edge.ledger.read_text()
    assert token not in (site.paths.log.read_text() if site.paths.log.exists() else "")


async def test_reading_the_page_asks_nobody_and_its_headers_keep_the_link_private(
    site: Site, control: ControlPlane
):
    control.create(site)
    agents = ("Slackbot-LinkExpanding 1.0", "facebookexternalhit/1.1", "Mozilla/5.0 (compatible; MSIE)", "")
    async with site.client() as scanner:
        for agent in agents:
            for method in ("GET", "HEAD", "OPTIONS", "PUT"):
                for query in ("", "&token=" + secrets.token_urlsafe(32)):
                    read = await scanner.request(method, PAGE + query, headers={"user-agent": agent})
                    assert read.status_code == (200 if method in ("GET", "HEAD") else 405), method
                    assert not is_signed_in(read)
        page = await scanner.get(PAGE)
    assert control.asked == []
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "no-store" in page.headers["cache-control"]
    assert page.headers["x-frame-options"] == "DENY"
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'nonce-")
    assert "form-action 'self'" in policy
    assert "x-cache" not in page.headers or page.headers["x-cache"] != "HIT"
    assert (await site.get(PAGE)).text != page.text, "each page has a nonce of its own"


async def test_what_is_not_a_link_of_this_site_signs_nobody_in(
    site: Site, node: WordPressNode, control: ControlPlane
):
    async with site.client() as browser:
        for token in (
            "",
            "x",
            "x" * 42,
            "x" * 44,
            "é" * 43,
            "x" * 42 + "\n",
            "../" * 14 + "x",
            "x" * 100_000,
        ):
            assert (await press(browser, token)).status_code == 403, token[:50]
        several = await browser.post(PAGE, data={"token[]": secrets.token_urlsafe(32)})
        assert several.status_code == 403
        in_query = await browser.post(f"{PAGE}&token={control.create(site)}")
        assert in_query.status_code == 403
        for origin in ("cross-site", "same-site", "x"):
            forged = await press(browser, control.create(site), **{"sec-fetch-site": origin})
            assert (forged.status_code, is_signed_in(forged)) == (403, False)
        assert control.asked == []
        for _ in range(3):
            guessed = await press(browser, secrets.token_urlsafe(32))
            assert (guessed.status_code, is_signed_in(guessed)) == (403, False)
        # Not the page of links: WordPress itself answers.
        elsewhere = await browser.post("/wp-login.php?action=login", data={"token": control.create(site)})
        assert not is_signed_in(elsewhere)
        assert len(control.asked) == 3


async def test_links_of_another_host_or_site_are_refused_and_stay_valid(
    site: Site, node: WordPressNode, control: ControlPlane
):
    other = await node.create()
    token = control.create(site)
    async with other.client() as browser:
        assert (await press(browser, token)).status_code == 403
    # The PHP of the other site lies about everything it can.
    message = {"sign_in": {"token": token, "host": site.host}, "environment": site.environment}
    said = await other.run_php(SAY % f"'{json.dumps(message)}'")
    assert json.loads(said) == {"error": "refused"}
    for wrong in (
        {"token": token},
        {"token": "short", "host": site.host},
        {"token": token, "host": "A/../b"},
    ):
        said = await other.run_php(SAY % f"'{json.dumps({'sign_in': wrong})}'")
        assert json.loads(said) == {"error": "the message cannot be read"}
    assert {environment for environment, _ in control.asked} == {other.environment}
    async with site.client() as browser:
        assert (await press(browser, token, host="other.example.com")).status_code != 303
        assert (await press(browser, token)).status_code == 303
    await node.remove(other)


async def test_of_two_presses_at_the_same_time_one_signs_in(site: Site, control: ControlPlane):
    token = control.create(site)
    async with site.client() as first, site.client() as second:
        answers = await asyncio.gather(press(first, token), press(second, token))
    assert sorted(each.status_code for each in answers) == [303, 403]


async def test_only_users_who_exist_and_have_a_role_are_signed_in(site: Site, control: ControlPlane):
    await site.run_php(
        f'{LOAD} wp_insert_user(["user_login" => "guest", "user_pass" => "x", "role" => ""]);'
        ' wp_insert_user(["user_login" => "Ana Übel", "user_pass" => "x", "role" => "editor"]);'
        ' wp_insert_user(["user_login" => "writer", "user_pass" => "x", "role" => "author"]);'
    )
    count = f"{LOAD} echo count_users()['total_users'];"
    before = await site.run_php(count)
    async with site.client() as browser:
        for user in ("nobody", "guest", "admin' or 1=1 -- ", "admin@example.com", "1", "0"):
            refused = await press(browser, control.create(site, user))
            assert (refused.status_code, is_signed_in(refused)) == (403, False), user
    async with site.client() as browser:
        assert (await press(browser, control.create(site, "writer"))).status_code == 303
        assert (await browser.get("/wp-admin/users.php")).status_code == 403
    assert await site.run_php(count) == before


async def test_every_answer_of_the_control_plane_leads_to_the_site_itself(site: Site, control: ControlPlane):
    """Also if the control plane were wrong about a path."""
    for path in ("//evil.example/", "/\\evil.example", "@evil.example/", ".evil.example/", "/%0d%0aX: y", ""):
        async with site.client() as browser:
            signed_in = await press(browser, control.create(site, redirect_to=path))
        place = httpx.URL(signed_in.headers["location"])
        assert (signed_in.status_code, place.host) == (303, site.host), path
        assert "x" not in signed_in.headers


async def test_plugins_that_hide_the_sign_in_page_do_not_hide_links(site: Site, control: ControlPlane):
    hiding = site.put_mu_plugin(
        "hide.php",
        'add_action("wp_loaded", fn () => $GLOBALS["pagenow"] === "wp-login.php" && wp_die("hidden", 404));',
    )
    async with site.client() as browser:
        assert (await browser.get("/wp-login.php")).status_code != 200
        assert (await browser.get(PAGE)).status_code == 200
        assert (await press(browser, control.create(site))).status_code == 303
    hiding.unlink()


async def test_without_an_answer_the_link_can_be_used_again(
    site: Site, control: ControlPlane, monkeypatch: pytest.MonkeyPatch
):
    token, control.silent = control.create(site), True
    async with site.client() as browser:
        failed = await press(browser, token)
        assert (failed.status_code, is_signed_in(failed)) == (503, False)
        control.silent = False
        assert (await press(browser, token)).status_code == 303


async def test_a_site_asks_only_as_often_as_people_sign_in(monkeypatch: pytest.MonkeyPatch):
    control = ControlPlane()
    desk = sign_ins.SignIns(control.ask)
    message = SignInMessage("x" * 43, "a.example.com")
    answers = [(await desk.redeem("env_a", message)).error for _ in range(100)]
    assert answers.count("refused") in range(20, 25)
    assert set(answers[-50:]) == {"unavailable"}
    assert (await desk.redeem("env_b", message)).error == "refused"


@pytest.mark.parametrize(
    "guessing", [["192.0.2.66"], [f"2001:db8::{n:x}" for n in range(50)], ["x", ""]], ids=["4", "6", "none"]
)
async def test_a_visitor_who_guesses_does_not_lock_out_the_owner(guessing: list[str]):
    desk = sign_ins.SignIns(ControlPlane().ask)

    async def redeem(address: str) -> str:
        return (await desk.redeem("env_a", SignInMessage("x" * 43, "a.example.com", address))).error

    guessed = [await redeem(guessing[n % len(guessing)]) for n in range(200)]
    assert guessed.count("refused") in range(20, 25)
    assert guessed[-1] == "unavailable"
    for owner in ("192.0.2.7", "2001:db8:1::7"):
        assert await redeem(owner) == "refused", "the control plane was not asked"


async def test_guesses_from_many_addresses_are_limited_together():
    desk = sign_ins.SignIns(ControlPlane().ask)
    addresses = [f"198.51.{n // 250}.{n % 250}" for n in range(1000)]
    messages = [SignInMessage("x" * 43, "a.example.com", each) for each in addresses]
    answers = [(await desk.redeem("env_a", each)).error for each in messages]
    assert answers.count("refused") in range(60, 75)
    assert len(desk._limits["env_a"]._addresses) == sign_ins.MAX_ADDRESSES


async def test_the_node_learns_the_address_that_the_edge_has_seen(
    site: Site, control: ControlPlane, monkeypatch: pytest.MonkeyPatch
):
    addresses: list[str] = []
    take = sign_ins.SiteLimits.take

    def record(limits: sign_ins.SiteLimits, address: str) -> bool:
        addresses.append(address)
        return take(limits, address)

    monkeypatch.setattr(sign_ins.SiteLimits, "take", record)
    forging = site.put_mu_plugin("forge.php", '$_SERVER["REMOTE_ADDR"] = $_SERVER["HTTP_X_FORWARDED_FOR"];')
    async with site.client() as browser:
        forged = {"x-forwarded-for": "203.0.113.9"}
        assert (await press(browser, control.create(site), **forged)).status_code == 303
    forging.unlink()
    assert addresses == ["127.0.0.1"]


async def test_a_new_password_wakes_the_site_and_ends_all_sessions(site: Site, node: WordPressNode):
    (site.paths.content / "plugins" / "broken.php").write_text(
        "<?php\n/* Plugin Name: Broken */\nmissing();\n"
    )
    async with site.client() as before, site.client() as after:
        assert (await site.sign_in(before)).status_code == 302
        assert (await before.get("/wp-admin/")).status_code == 200
        await site.run_php(f'{LOAD} update_option("active_plugins", ["broken.php"]);')
        broken = site.put_mu_plugin("broken.php", "missing();")
        assert (await after.get("/wp-login.php")).status_code == 500
        await site.hosted.sleep()
        work = SetPassword("cms", "admin", HASH)
        for _ in range(2):
            await node.runtime.set_password(site.assignment, work)
        assert site.hosted.state == "awake"
        site.query(
            "update {schema}.wp_options set option_value = 'a:0:{}' where option_name = 'active_plugins'"
        )
        broken.unlink()
        assert (await before.get("/wp-admin/")).status_code == 302
        assert (await site.sign_in(after)).status_code == 200, "the earlier password is not valid any more"
        form = {"log": "admin", "pwd": "test12345", "wp-submit": "Log In", "testcookie": "1"}
        assert (await after.post("/wp-login.php", data=form)).status_code == 302
        assert (await after.get("/wp-admin/")).status_code == 200
    with pytest.raises(Refusal, match="no user nobody"):
        await node.runtime.set_password(site.assignment, SetPassword("cms", "nobody", HASH))
    assert PASSWORD not in str(node.output.lines)
    assert HASH not in str(node.output.lines)
