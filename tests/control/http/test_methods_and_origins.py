"""`HEAD`, `OPTIONS`, pages of other origins, and errors outside `/v1`."""

import httpx
import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.http.cross_origin import AllowedOrigins, OriginInvalid
from stead.control.settings import Settings, SettingsInvalid, from_environment
from tests.client import Client
from tests.people import Person

DASHBOARD = "https://dashboard.example.com"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def browser_of(settings: Settings, origins: str) -> httpx.AsyncClient:
    """A client of an API with this setting. It needs no engine: none of these requests has a credential."""
    plane = ControlPlane(msgspec.structs.replace(settings, cors_origins=origins))
    return httpx.AsyncClient(transport=httpx.ASGITransport(plane), base_url="http://stead.test")


async def test_head_answers_as_get_without_a_body(person: Person):
    get, head = await person.session.get("/v1/account"), await person.session.head("/v1/account")
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-type", "content-length", "api-version", "x-ratelimit-limit"):
        assert head.headers[name] == get.headers[name] or name == "content-length"
    assert int(head.headers["content-length"]) > 0


async def test_head_is_refused_as_get_is(anonymous: Client, person: Person):
    refused = await anonymous.head("/v1/account")
    assert (refused.status_code, refused.content) == (401, b"")
    assert (await person.session.head("/v1/sites/site_" + "0" * 26)).status_code == 404
    wrong = await person.session.head("/v1/sites/site_" + "0" * 26 + "/restart")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "OPTIONS, POST")


async def test_options_lists_the_methods_of_an_address(anonymous: Client):
    answer = await anonymous.options("/v1/sites")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert (await anonymous.options("/v1/nothing")).status_code == 404


async def test_without_the_setting_no_other_origin_is_allowed(anonymous: Client):
    asked = {"origin": DASHBOARD, "access-control-request-method": "GET"}
    for answer in (
        await anonymous.options("/v1/sites", headers=asked),
        await anonymous.get("/v1/sites", headers=asked),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_listed_origin_may_call_the_api_and_read_responses_and_errors(settings: Settings):
    async with browser_of(settings, f"{DASHBOARD}, http://localhost:5173") as browser:
        asked = {
            "origin": DASHBOARD,
            "access-control-request-method": "PATCH",
            "access-control-request-headers": "authorization,idempotency-key",
        }
        preflight = await browser.options("/v1/account", headers=asked)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == DASHBOARD
        assert "PATCH" in preflight.headers["access-control-allow-methods"]
        allowed = preflight.headers["access-control-allow-headers"].lower()
        assert "authorization" in allowed
        assert "idempotency-key" in allowed
        assert "access-control-allow-credentials" not in preflight.headers
        refused = await browser.get("/v1/account", headers={"origin": DASHBOARD})
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == DASHBOARD
        assert "X-Request-Id" in refused.headers["access-control-expose-headers"]
        assert refused.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example.com",
        "null",
        f"{DASHBOARD}.evil.example.com",
        "http://dashboard.example.com",
        "*",
        "",
    ],
)
async def test_an_origin_that_is_not_listed_is_not_allowed(settings: Settings, origin: str):
    async with browser_of(settings, DASHBOARD) as browser:
        asked = {"origin": origin, "access-control-request-method": "GET"}
        for answer in (
            await browser.options("/v1/account", headers=asked),
            await browser.get("/v1/account", headers=asked),
        ):
            assert not [name for name in answer.headers if name.startswith("access-control")]
            assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "text", ["dashboard.example.com", "https://a.example/path", "ftp://a.example", "https://u@a.example"]
)
def test_a_setting_that_is_no_origin_is_refused_at_the_start(text: str):
    needed = {
        "STEAD_DATABASE_URL": "postgresql://a/b",
        "STEAD_REDIS_URL": "redis://a",
        "STEAD_NATS_URL": "nats://a",
        "STEAD_SEALING_KEY": "x",
        "STEAD_CORS_ORIGINS": text,
    }
    with pytest.raises(SettingsInvalid, match="STEAD_CORS_ORIGINS"):
        from_environment(needed)
    with pytest.raises(OriginInvalid):
        AllowedOrigins.parse([text])


def test_an_origin_is_written_as_browsers_send_it():
    assert AllowedOrigins.parse(["https://A.example:443/"]).origins == {"https://a.example"}


@pytest.fixture
def browser(plane: ControlPlane) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(plane), base_url="http://stead.test")


@pytest.mark.parametrize(
    "path", ["/nothing", "/docs/nothing", "/docs/errors/permission/no.such", "/docs/viewer/nothing"]
)
async def test_an_address_outside_the_api_is_refused_in_the_form_that_the_client_understands(
    path: str, browser: httpx.AsyncClient
):
    page = await browser.get(path, headers={"accept": BROWSER})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is nothing at this address." in page.text
    for accept in ("application/json", "*/*", ""):
        answer = await browser.get(path, headers={"accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
        assert answer.json()["error"]["code"] == "route.not_found"
        assert answer.json()["request_id"] == answer.headers["x-request-id"]


async def test_a_method_that_a_page_does_not_take_is_refused(browser: httpx.AsyncClient):
    refused = await browser.post("/healthz")
    assert (refused.status_code, refused.json()["error"]["code"]) == (405, "route.method_not_allowed")
    assert refused.headers["allow"] == "GET, HEAD, OPTIONS"
    options = await browser.options("/healthz")
    assert (options.status_code, options.headers["allow"], options.content) == (
        204,
        "GET, HEAD, OPTIONS",
        b"",
    )
    head = await browser.head("/docs")
    assert (head.status_code, head.content) == (200, b"")


async def test_a_page_that_fails_is_reported_without_its_cause(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
):
    def fail() -> None:
        raise RuntimeError("a secret")

    transport = httpx.ASGITransport(plane, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://stead.test") as client:
        monkeypatch.setattr(plane.database, "reading", fail)
        answer = await client.get("/readyz", headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text
