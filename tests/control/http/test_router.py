"""From a method and a path to exactly one operation, or to none."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.control.app import ControlPlane
from stead.control.features import all_operations
from stead.control.http.operations import Call, Operations
from stead.control.http.router import Router
from stead.shared.errors import ApiError, MethodNotAllowed, RouteNotFound
from tests.client import Client, code_of
from tests.people import Person

KEYS = "/v1/api-keys"


def router(*routes: str) -> Router:
    operation = Operations(tag="Toys")
    for route in routes:

        @operation(route, id=route, scope="sites:read")
        async def handle(call: Call) -> None:
            """Do something."""

    return Router(operation)


TOYS = router(
    "GET /v1/toys",
    "POST /v1/toys",
    "GET /v1/toys/{toy_id}",
    "GET /v1/toys/newest",
    "PATCH /v1/toys/{toy_id}",
    "GET /v1/toys/{toy_id}/parts/{part_id}",
    "GET /v1/toys/{id}/parts",
)


@pytest.mark.parametrize(
    ("method", "path", "route", "values"),
    [
        ("GET", "/v1/toys", "GET /v1/toys", {}),
        ("POST", "/v1/toys", "POST /v1/toys", {}),
        ("GET", "/v1/toys/7", "GET /v1/toys/{toy_id}", {"toy_id": "7"}),
        ("GET", "/v1/toys/newest", "GET /v1/toys/newest", {}),
        ("GET", "/v1/toys/Newest", "GET /v1/toys/{toy_id}", {"toy_id": "Newest"}),
        ("PATCH", "/v1/toys/toys", "PATCH /v1/toys/{toy_id}", {"toy_id": "toys"}),
        (
            "GET",
            "/v1/toys/7/parts/8",
            "GET /v1/toys/{toy_id}/parts/{part_id}",
            {"toy_id": "7", "part_id": "8"},
        ),
        ("GET", "/v1/toys/7/parts", "GET /v1/toys/{id}/parts", {"id": "7"}),
        ("GET", "/v1/toys/{toy_id}", "GET /v1/toys/{toy_id}", {"toy_id": "{toy_id}"}),
        ("GET", "/v1/toys/..", "GET /v1/toys/{toy_id}", {"toy_id": ".."}),
    ],
)
def test_literals_win_and_parameters_are_named_by_their_operation(method, path, route, values):
    operation, found = TOYS.find(method, path)
    assert (operation.id, dict(found)) == (route, values)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/v1",
        "/v1/",
        "v1/toys",
        "/v1/toys/",
        "//v1/toys",
        "/v1//toys",
        "/v1/toys//parts",
        "/v1/toys/7/",
        "/v1/toys/7/parts/",
        "/v1/toys/7/parts/8/",
        "/v1/toys/7/wheels",
        "/v2/toys",
        "/V1/toys",
        "/v1/toys\n",
        "/v1/toys/newest/parts/8/9",
    ],
)
def test_empty_segments_trailing_slashes_and_the_rest_lead_nowhere(path: str):
    with pytest.raises(RouteNotFound):
        TOYS.find("GET", path)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/toys", "GET, HEAD, OPTIONS, POST"),
        ("PUT", "/v1/toys/7", "GET, HEAD, OPTIONS, PATCH"),
        ("POST", "/v1/toys/newest", "GET, HEAD, OPTIONS"),
        ("get", "/v1/toys", "GET, HEAD, OPTIONS, POST"),
        ("", "/v1/toys", "GET, HEAD, OPTIONS, POST"),
    ],
)
def test_another_method_is_refused_with_those_there_are(method: str, path: str, allowed: str):
    with pytest.raises(MethodNotAllowed) as refused:
        TOYS.find(method, path)
    assert refused.value.headers == {"Allow": allowed}


def test_two_operations_at_one_address_are_refused():
    with pytest.raises(TypeError, match="two operations"):
        router("GET /v1/toys/{toy_id}", "GET /v1/toys/{id}")


@given(method=st.text(max_size=8), path=st.text(max_size=40))
def test_any_text_is_found_or_refused(method: str, path: str):
    with pytest.raises(ApiError):
        TOYS.find(method, f"/v1/nowhere/{path}")


@given(st.text(st.characters(exclude_characters="/"), min_size=1))
def test_a_parameter_is_handed_on_as_it_came(value: str):
    if value != "newest":
        assert TOYS.find("GET", f"/v1/toys/{value}")[1] == {"toy_id": value}


@given(st.data())
def test_every_declared_operation_is_found_at_its_own_path(data: st.DataObject):
    declared = data.draw(st.sampled_from(all_operations()))
    path = declared.path
    for name in declared.path_parameters:
        path = path.replace(f"{{{name}}}", "x_1")
    assert Router(all_operations()).find(declared.method, path)[0].id == declared.id


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/api-keys/", "/v1//api-keys", "/v1/nothing", "/v1/%"])
async def test_an_address_with_nothing_at_it_answers_in_the_envelope(anonymous: Client, path: str):
    answer = await anonymous.get(path)
    assert (answer.status_code, code_of(answer)) == (404, "route.not_found")
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "BREW"])
async def test_a_method_that_is_not_taken_is_refused_with_allow(anonymous: Client, method: str):
    answer = await anonymous.request(method, KEYS)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"


async def test_percent_encoding_does_not_hide_a_path(person: Person):
    """An unreserved character is the same character however it is written."""
    assert (await person.session.get("/v1/%61ccount")).status_code == 200
    minted = (await person.session.post(KEYS, json={"scopes": ["sites:read"]})).json()["data"]["id"]
    encoded = minted.replace("_", "%5F")
    assert (await person.session.get(f"{KEYS}/{encoded}")).json()["data"]["id"] == minted


async def test_an_encoded_slash_makes_no_segment(person: Person, plane: ControlPlane):
    """`…%2Froll` is one strange identifier; whoever guards `/roll` in front of us must not be fooled."""
    minted = (await person.session.post(KEYS, json={"scopes": ["sites:read"]})).json()["data"]
    raw = httpx.AsyncClient(
        transport=httpx.ASGITransport(plane),
        base_url="http://stead.test",
        headers={"authorization": person.session.headers["authorization"]},
    )
    for path in (f"{KEYS}/{minted['id']}%2Froll", f"{KEYS}/{minted['id']}%2froll"):
        answer = await raw.post(path)
        assert answer.status_code in (404, 405), answer.text
    shown = (await person.session.get(f"{KEYS}/{minted['id']}")).json()["data"]
    assert shown["last4"] == minted["last4"]
