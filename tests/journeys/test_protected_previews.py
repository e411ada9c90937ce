"""Permanent URLs, a lock and protected previews, from the commit to the visitor."""

from html import unescape
from urllib.parse import urlsplit

import httpx

from stead.dev.running_stack import RunningStack
from tests.client import code_of
from tests.git_server import GitServer
from tests.journeys import projects
from tests.journeys.customer import Customer
from tests.journeys.deliveries import built, deployed
from tests.journeys.visitor import Visitor

DOMAIN = "protected.example.com"
PASSWORD = "shown at the meeting"
ACCESS = "/_stead/access"
REASON = "The launch is tomorrow."


async def test_deployments_keep_their_urls_and_previews_are_for_those_who_may_see_them(
    stack: RunningStack, customer: Customer, visitor: Visitor, git_server: GitServer
) -> None:
    repository = git_server.create("protected.git")
    first = projects.write(repository, "the first version")
    wanted = {"domain": DOMAIN, "profile": "static", "git_repo": repository.url, "git_branch": "main"}
    created = await customer.does("POST", "/v1/sites", wanted)
    site = f"/v1/sites/{created['resource']['site_id']}"
    production = f"{site}/environments/production"
    build = await built(customer, production, first)
    await deployed(customer, production, build["artifact_id"])
    await visitor.until(DOMAIN, "the first version")

    # Each deployment keeps its URL. Search engines are asked to leave it out.
    second = projects.write(repository, "the second version")
    await customer.post(f"{production}/builds", {"builder": "static", "auto_deploy": True})
    build = await built(customer, production, second)
    await deployed(customer, production, build["artifact_id"])
    await visitor.until(DOMAIN, "the second version")
    newer, older = (
        urlsplit(each["url"]).hostname or "" for each in await customer.get(f"{production}/deployments")
    )
    for host, words in ((older, "the first version"), (newer, "the second version")):
        seen = await visitor.get(host, secure=False)
        assert (seen.status, words in seen.text) == (200, True), seen
        assert "noindex" in seen.headers["x-robots-tag"]
    assert "x-robots-tag" not in (await visitor.get(DOMAIN)).headers

    # A locked environment keeps its release; its URLs stay.
    await customer.put(f"{production}/lock", {"reason": REASON})
    refused = await customer.api.post(f"{production}/deployments", json={"artifact_id": build["artifact_id"]})
    assert (refused.status_code, code_of(refused)) == (409, "environment.locked")
    assert REASON in refused.text
    assert "the first version" in (await visitor.get(older, secure=False)).text
    assert (await customer.api.delete(f"{production}/lock")).status_code == 204

    # A password protects staging and the permanent URLs, not production.
    made = await customer.does("POST", f"{site}/environments", {"type": "staging"})
    staging = f"{site}/environments/{made['result']['env_id']}"
    host = (await customer.get(staging))["subdomain"]
    await visitor.until(host, "the second version")
    protection = {"preview_protection": "password", "preview_password": PASSWORD}
    await customer.does("PATCH", f"{site}/config", {"security": protection})
    assert (await visitor.get(older, secure=False)).status == 401
    assert "the second version" in (await visitor.get(DOMAIN)).text
    async with visitor.browser(host) as browser:
        page = await browser.get("/")
        assert (page.status_code, page.headers["x-stead-reason"]) == (401, "protected")
        assert (await browser.post(ACCESS, data={"password": "a guess", "to": "/"})).status_code == 401
        entered = await browser.post(ACCESS, data={"password": PASSWORD, "to": "/"})
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert "the second version" in (await browser.get("/")).text

        # Then only the team may see it: the password and its cookie are worth nothing.
        await customer.does("PATCH", f"{site}/config", {"security": {"preview_protection": "team"}})
        page = await browser.get("/?from=mail")
        assert page.status_code == 401
        link = unescape(page.text.partition('href="')[2].partition('"')[0])
        assert link.startswith(f"{stack.api.url}/preview-access?")
        entered = await browser.get(await _sign_in(stack, link))
        assert (entered.status_code, entered.headers["location"]) == (303, "/?from=mail")
        assert "the second version" in (await browser.get("/?from=mail")).text
    assert (await visitor.get(host)).status == 401

    await customer.does("PATCH", f"{site}/config", {"security": {"preview_protection": None}})
    assert "the second version" in (await visitor.get(host)).text


async def _sign_in(stack: RunningStack, link: str) -> str:
    """Fill in the form of the platform. Returns the path on the preview that it leads to."""
    account = stack.secrets.account
    assert account is not None
    async with httpx.AsyncClient(timeout=60.0) as browser:
        assert "is for its team" in (await browser.get(link)).text
        wrong = await browser.post(link, data={"email": account.email, "password": "not the password"})
        assert wrong.status_code == 403
        right = await browser.post(link, data={"email": account.email, "password": account.password})
    assert right.status_code == 303, right.text
    where = urlsplit(right.headers["location"])
    assert where.path == ACCESS
    return f"{where.path}?{where.query}"
