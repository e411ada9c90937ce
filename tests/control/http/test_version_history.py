"""The chain of version changes, end to end, through a toy whose shape changed three times."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.http.access_log import AccessLog
from stead.control.http.api import Api
from stead.control.http.endpoint import EndpointDependencies
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.version_changes import History, VersionChange
from stead.control.http.visibility import Resolvers
from stead.control.sealing import Sealer
from stead.shared.versions import VERSIONS
from tests.people import Person


class Toy(msgspec.Struct):
    id: str
    colours: list[str]


class NewToy(msgspec.Struct, forbid_unknown_fields=True):
    colours: list[str]


class ColourWasPaint(VersionChange):
    since, shape, summary = date(2026, 6, 26), "Toy", "`paint` became `colour`."

    def downgrade_response(self, new: dict[str, Any]) -> dict[str, Any]:
        return {"id": new["id"], "paint": new["colour"]}


class ColourHasAName(VersionChange):
    since, shape, summary = date(2026, 7, 2), "Toy", "A colour is a word, no longer a number."

    def downgrade_response(self, new: dict[str, Any]) -> dict[str, Any]:
        return {**new, "colour": {"red": 1, "blue": 2}[new["colour"]]}


class ColoursAreMany(VersionChange):
    since, shape, summary = date(2026, 7, 4), "Toy", "`colour` became `colours`."

    def downgrade_response(self, new: dict[str, Any]) -> dict[str, Any]:
        return {"id": new["id"], "colour": new["colours"][0]}


class NewColourHasAName(VersionChange):
    since, shape, summary = date(2026, 7, 2), "NewToy", "A colour is a word, no longer a number."

    def upgrade_request(self, old: dict[str, Any]) -> dict[str, Any]:
        number = old.get("colour")
        return {**old, "colour": {1: "red", 2: "blue"}[number]} if number in (1, 2) else old


class NewColoursAreMany(VersionChange):
    since, shape, summary = date(2026, 7, 4), "NewToy", "`colour` became `colours`."

    def upgrade_request(self, old: dict[str, Any]) -> dict[str, Any]:
        return {"colours": [old["colour"]]} if "colour" in old else old


class NewLabelHasText(VersionChange):
    since, shape, summary = date(2026, 7, 4), "NewLabel", "`words` became `text`."

    def upgrade_request(self, old: dict[str, Any]) -> dict[str, Any]:
        return {"text": old["words"]} if "words" in old else old


class NewLabel(msgspec.Struct, forbid_unknown_fields=True):
    text: str


class Label(msgspec.Struct):
    text: str


TOY_HISTORY = (
    ColoursAreMany(),
    ColourWasPaint(),
    ColourHasAName(),
    NewColoursAreMany(),
    NewColourHasAName(),
    NewLabelHasText(),
)
BY_PIN = {
    "2026-06-23": {"id": "toy_1", "paint": 1},
    "2026-06-26": {"id": "toy_1", "colour": 1},
    "2026-06-28": {"id": "toy_1", "colour": 1},
    "2026-07-02": {"id": "toy_1", "colour": "red"},
    "2026-07-04": {"id": "toy_1", "colours": ["red", "blue"]},
    "2026-07-05": {"id": "toy_1", "colours": ["red", "blue"]},
}
"""What the toy looks like to a caller pinned to each version."""
THE_TOY = Toy("toy_1", ["red", "blue"])
operation = Operations(tag="Toys")


@operation("GET /v1/toys/{toy_id}", id="toys.get", scope="sites:read")
async def get_toy(call: Call, toy_id: str) -> Toy:
    """Read a toy."""
    return Toy(toy_id, THE_TOY.colours)


@operation("GET /v1/toys", id="toys.list", scope="sites:read")
async def list_toys(call: Call, page: PageRequest) -> Page[Toy]:
    """List toys."""
    return Page([THE_TOY, THE_TOY], None)


@operation("POST /v1/toys", id="toys.create", scope="sites:write", status=201)
async def make_toy(call: Call, body: NewToy) -> Toy:
    """Make a toy."""
    return Toy("toy_2", body.colours)


@operation("POST /v1/labels", id="labels.create", scope="sites:write", status=201)
async def make_label(call: Call, body: NewLabel) -> Label:
    """Make a label."""
    return Label(body.text)


@pytest.fixture
async def toys(
    person: Person, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """An API of toys on the real engines, as the person's session sees it."""
    monkeypatch.setattr(History.__init__, "__defaults__", (TOY_HISTORY,))
    dependencies = EndpointDependencies(
        resolvers=Resolvers([]),
        database=plane.database,
        limiter=plane.authenticator._limiter,
        authenticator=plane.authenticator,
        invalidator=plane.invalidator,
        sealer=Sealer(bytes(32)),
        context=replace(plane.context, docs_url="http://docs.test"),
        streams=plane.streams,
    )
    api = Api(operation, dependencies, AccessLog())
    headers = {"authorization": person.session.headers["authorization"]}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(api), base_url="http://stead.test", headers=headers
    ) as client:
        yield client


def pin(version: str) -> dict[str, str]:
    return {"api-version": version}


@pytest.mark.parametrize("version", BY_PIN)
async def test_an_old_pin_sees_the_shape_of_its_day(toys: httpx.AsyncClient, version: str):
    one = await toys.get("/v1/toys/toy_1", headers=pin(version))
    assert one.json()["data"] == BY_PIN[version]
    many = await toys.get("/v1/toys", headers=pin(version))
    assert many.json()["data"] == [BY_PIN[version]] * 2
    assert many.json()["pagination"] == {"next_cursor": None, "has_more": False}


@pytest.mark.parametrize(
    ("version", "body", "status"),
    [
        ("2026-06-23", {"colour": 2}, 201),
        ("2026-07-02", {"colour": "blue"}, 201),
        ("2026-07-04", {"colours": ["blue"]}, 201),
        ("2026-07-05", {"colours": ["blue"]}, 201),
        ("2026-07-05", {"colour": "blue"}, 400),
        ("2026-07-04", {"colour": 2}, 400),
        ("2026-07-02", {"colour": 2}, 400),
        ("2026-06-23", {"colour": 3}, 400),
        ("2026-06-23", [], 400),
        ("2026-06-23", {}, 400),
        ("2026-06-23", {"colour": 2, "size": 1}, 201),
    ],
)
async def test_an_old_request_is_read_as_it_was_meant(
    toys: httpx.AsyncClient, version: str, body: object, status: int
):
    made = await toys.post("/v1/toys", json=body, headers=pin(version))
    assert made.status_code == status, made.text
    if status == 201:
        older: dict[str, dict[str, object]] = {"2026-06-23": {"paint": 2}, "2026-07-02": {"colour": "blue"}}
        assert made.json()["data"] == {"id": "toy_2", **older.get(version, {"colours": ["blue"]})}


@pytest.mark.parametrize(
    ("version", "changed"),
    [
        ("2026-06-23", date(2026, 6, 26)),
        ("2026-06-28", date(2026, 7, 2)),
        ("2026-07-02", date(2026, 7, 4)),
        ("2026-07-04", None),
        ("2026-07-05", None),
    ],
)
async def test_traffic_on_an_old_shape_is_told_when_it_ends(
    toys: httpx.AsyncClient, version: str, changed: date | None
):
    """From the first change that the pin has not seen: deprecated then, gone a year later."""
    headers = (await toys.get("/v1/toys/toy_1", headers=pin(version))).headers
    if changed is None:
        assert not {"deprecation", "sunset", "link"} & set(headers)
        return
    moment = datetime(changed.year, changed.month, changed.day, tzinfo=UTC)
    assert headers["deprecation"] == f"@{int(moment.timestamp())}"
    assert headers["sunset"].endswith(" GMT")
    assert (parsedate_to_datetime(headers["sunset"]) - moment).days == 365
    assert headers["link"] == '<http://docs.test/versions>; rel="deprecation"'


async def test_a_request_in_an_old_shape_is_told_so_too(toys: httpx.AsyncClient):
    """The answer has not changed since, but what was sent has."""
    made = await toys.post("/v1/labels", json={"words": "hello"}, headers=pin("2026-07-02"))
    assert made.json()["data"] == {"text": "hello"}
    assert "deprecation" in made.headers
    assert "sunset" in made.headers


def test_the_chain_is_applied_newest_to_oldest_and_forward_oldest_to_newest():
    answers, asked = History("Toy", TOY_HISTORY), History("NewToy", TOY_HISTORY)
    assert [change.since.isoformat() for change in answers.since(VERSIONS[0])] == [
        "2026-07-04", "2026-07-02", "2026-06-26",
    ]  # fmt: skip
    assert answers.downgrade_response(msgspec.to_builtins(THE_TOY), VERSIONS[0]) == BY_PIN["2026-06-23"]
    assert asked.upgrade_request({"colour": 1}, VERSIONS[0]) == {"colours": ["red"]}
    assert History("Other", TOY_HISTORY).since(VERSIONS[0]) == []
