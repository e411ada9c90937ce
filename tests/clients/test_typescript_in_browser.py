"""The TypeScript client in a browser: a web page calls the API, which is at another origin."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.clients.fault_proxy import FaultProxy
from tests.clients.typescript import build
from tests.clients.web_page import PATH
from tests.journeys.browser import Browser, open_browser
from tests.people import Person

_CALL = """
const client = new sdk.Stead({ baseUrl: arguments[0], apiKey: arguments[1] });
try {
    return { value: await (async (argument) => { %s })(arguments[2]) };
} catch (error) {
    const classes = [];
    for (let kind = error.constructor; kind.name; kind = Object.getPrototypeOf(kind)) classes.push(kind.name);
    const { message, code, status, requestId } = error;
    return { classes, message, code, status, requestId };
}
"""
"""A part of a program, with a `client` and one `argument`: what it returns, or what it throws."""


@pytest.fixture(scope="module")
async def page(page_origin: str) -> AsyncIterator[Browser]:
    build()
    async with open_browser() as browser:
        await browser.open(f"{page_origin}{PATH}")
        await browser.until("return typeof sdk === 'object'", "the page has loaded the client")
        yield browser


async def test_pages_are_read_as_they_are_needed(page: Browser, proxy: FaultProxy, person: Person):
    names = {f"team {number}" for number in range(5)}
    for name in names:
        await person.session.post("/v1/teams", json={"name": name})
    program = """
        const names = [];
        for await (const team of client.teams.list({ limit: 2 })) {
            names.push(team.name);
            if (names.length === argument) break;
        }
        return names;
    """
    some = await page.run(_CALL % program, proxy.address, await person.secret(), 3)
    assert len({*some["value"]}) == 3
    assert _count(proxy, "GET") == 2, "the third page is not needed"
    every = await page.run(_CALL % program, proxy.address, await person.secret(), None)
    assert (len(every["value"]), {*every["value"]}) == (5, names)


async def test_an_error_has_a_class_and_names_the_request(page: Browser, api: str, person: Person):
    program = "return await client.sites.get(argument);"
    thrown = await page.run(_CALL % program, api, await person.secret(), "site_" + "0" * 26)
    assert "NotFound" in thrown["classes"], thrown
    assert (thrown["code"], thrown["status"]) == ("site.not_found", 404)
    assert thrown["requestId"].startswith("req_")


async def test_the_caller_can_end_a_request(page: Browser, proxy: FaultProxy, person: Person):
    proxy.always = "stall"
    program = "return await client.account.get({ signal: AbortSignal.timeout(argument) });"
    thrown = await page.run(_CALL % program, proxy.address, await person.secret(), 300)
    assert "AbortedError" in thrown["classes"], thrown
    proxy.always, seen = "pass", proxy.seen
    program = "return await client.account.get({ signal: AbortSignal.abort() });"
    thrown = await page.run(_CALL % program, proxy.address, await person.secret())
    assert "AbortedError" in thrown["classes"], thrown
    assert proxy.seen == seen, "nothing is sent"


async def test_a_creation_happens_once(page: Browser, proxy: FaultProxy, person: Person):
    proxy.then("lose", "503")
    program = "await client.teams.create({ name: argument }); return (await client.teams.list().page()).data;"
    made: dict[str, Any] = await page.run(_CALL % program, proxy.address, await person.secret(), "once")
    assert [team["name"] for team in made["value"]] == ["once"]
    assert _count(proxy, "POST") == 2, "the proxy has answered one of the three"
    assert len({key for key in proxy.keys if key}) == 1, "every attempt has the same key"


def _count(proxy: FaultProxy, method: str) -> int:
    return sum(1 for request in proxy.forwarded if request.method == method)
