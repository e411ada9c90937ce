"""Generated requests to what the API description does not cover: pages, probes, the hooks of forges.

They go to a real API process over connections of their own, with methods, paths, headers and bodies that no
browser sends. Every answer comes in time and is no server error; what is wrong with a signed delivery is said
in the usual error envelope.
"""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, seed
from hypothesis import settings as drawing
from hypothesis import strategies as st

from stead.control.accounts.browser_pages import PATH as SESSION
from stead.control.devices.rules import PATH as DEVICE
from stead.control.git.service import HOOK_PATH
from stead.control.notifications.unsubscribing import PATH as UNSUBSCRIBE
from tests.conftest import NewPerson
from tests.control.git.forges import github
from tests.seeds import current_seed
from tests.teams import insert_site

ANSWER_SECONDS = 30
DRAWN = drawing(
    max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
)
PAGES = [
    "/",
    "/docs",
    "/docs/page.js",
    "/docs/errors/resource/site.not_found",
    "/docs/versions",
    "/healthz",
    *(UNSUBSCRIBE, DEVICE, SESSION),
    f"{HOOK_PATH}/site_{'0' * 26}",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]
SEGMENTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)
PATHS = st.one_of(
    st.sampled_from(PAGES),
    st.tuples(st.sampled_from(PAGES), SEGMENTS).map("/".join),
    st.lists(SEGMENTS, max_size=5).map(lambda parts: "/" + "/".join(parts)),
)
QUERIES = st.dictionaries(st.sampled_from(["token", "limit", "q", "code"]), st.text(max_size=200), max_size=3)
HEADERS = st.dictionaries(
    st.sampled_from(["accept", "authorization", "cookie", "content-type", "if-none-match", "range", "x-a"]),
    st.binary(max_size=200).map(lambda value: bytes(byte for byte in value if 32 <= byte != 127).strip()),
    max_size=4,
)
BODIES = st.one_of(st.just(b""), st.binary(max_size=2000))
FORMS = st.dictionaries(
    st.sampled_from(["code", "email", "password", "ticket", "decision"]), st.text(max_size=100), max_size=5
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)
PUSH_FIELDS = st.sampled_from(["ref", "before", "after", "created", "deleted", "repository", "commits"])
PUSHES = st.dictionaries(PUSH_FIELDS, JSON_VALUES | st.just("refs/heads/main"), max_size=7)


@pytest.fixture
def browser(api: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=api, timeout=ANSWER_SECONDS, follow_redirects=False) as client:
        yield client


@pytest.fixture
def addresses() -> Iterator[dict[str, str]]:
    """A header with a new address for every request: limits per address are tested elsewhere."""
    return ({"x-forwarded-for": f"2001:db8:1:{number:x}::1"} for number in count(1))


def test_no_request_to_a_page_causes_a_server_error(
    browser: httpx.Client, addresses: Iterator[dict[str, str]]
) -> None:
    @seed(current_seed())
    @DRAWN
    @given(st.sampled_from(METHODS), PATHS, QUERIES, HEADERS, BODIES)
    def request(
        method: str, path: str, query: dict[str, str], headers: dict[str, bytes], body: bytes
    ) -> None:
        sent = {name.encode(): value for name, value in headers.items()}
        sent |= {name.encode(): value.encode() for name, value in next(addresses).items()}
        url = browser.base_url.copy_with(raw_path=quote(path).encode())
        answer = browser.request(method, url, params=query, headers=sent, content=body)
        assert answer.status_code < 500, (method, path, answer.text[:500])
        assert "Traceback" not in answer.text

    request()


def test_no_form_of_a_device_causes_a_server_error(
    browser: httpx.Client, addresses: Iterator[dict[str, str]]
) -> None:
    @seed(current_seed())
    @DRAWN
    @given(FORMS)
    def send(form: dict[str, str]) -> None:
        answer = browser.post(DEVICE, data=form, headers=next(addresses))
        assert answer.status_code in (200, 400, 403, 429), (form, answer.text[:500])
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "<script" not in answer.text

    send()


def test_no_json_of_a_browser_causes_a_server_error(
    browser: httpx.Client, addresses: Iterator[dict[str, str]]
) -> None:
    own = {"sec-fetch-site": "same-origin", "content-type": "application/json"}

    @seed(current_seed())
    @DRAWN
    @given(
        st.dictionaries(st.sampled_from(["email", "password", "x"]), JSON_VALUES, max_size=3) | JSON_VALUES
    )
    def send(body: Any) -> None:
        answer = browser.post(SESSION, content=json.dumps(body), headers={**own, **next(addresses)})
        assert answer.status_code in (400, 401, 429), (body, answer.text[:500])
        assert "set-cookie" not in answer.headers

    send()


async def test_a_signed_delivery_with_any_content_is_answered(
    browser: httpx.Client, new_person: NewPerson, addresses: Iterator[dict[str, str]]
) -> None:
    person = await new_person()
    async with person.transaction() as tx:
        site = await insert_site(tx, account=person.id)
    routes = {"rules": [], "roll_hook_secret": True}
    connected = await person.session.put(f"/v1/sites/{site}/branch-routes", json=routes)
    assert connected.status_code == 200, connected.text
    secret = connected.json()["data"]["hook_secret"]

    @seed(current_seed())
    @DRAWN
    @given(st.sampled_from(["push", "ping", "create", "delete"]), PUSHES | JSON_VALUES, st.booleans())
    def deliver(event: str, payload: Any, form: bool) -> None:
        delivery = github(payload, secret, event=event, form=form)
        headers = {**delivery.headers, **next(addresses)}
        answer = browser.post(f"{HOOK_PATH}/{site}", content=delivery.body, headers=headers)
        assert answer.status_code in (200, 202, 400, 429), (payload, answer.text)
        assert ("error" in json.loads(answer.text)) is (answer.status_code >= 400)

    deliver()
