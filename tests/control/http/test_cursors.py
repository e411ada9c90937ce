"""A cursor fits only the list, the path and the filters it was made for."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.control.app import ControlPlane
from stead.control.http.inputs import QueryReader
from stead.control.http.operations import Call, Operation, Operations
from stead.control.http.pagination import Page, PageRequest, _encode_cursor
from stead.shared.errors import CursorInvalid
from stead.shared.ids import new_id


class Toy(msgspec.Struct):
    id: str


class ToyFilter(msgspec.Struct):
    status: str | None = None
    owner: str | None = None


operation = Operations(tag="Toys")


@operation("GET /v1/boxes/{box}/toys", id="toys.list", scope="sites:read")
async def list_toys(call: Call, box: str, query: ToyFilter, page: PageRequest) -> Page[Toy]:
    """List toys."""
    raise NotImplementedError


@operation("GET /v1/boxes/{box}/trains", id="trains.list", scope="sites:read")
async def list_trains(call: Call, box: str, query: ToyFilter, page: PageRequest) -> Page[Toy]:
    """List trains."""
    raise NotImplementedError


TOYS, TRAINS = operation
PATH = "/v1/boxes/1/toys"


def asked(of: Operation = TOYS, path: str = PATH, **values: str) -> PageRequest:
    reader = QueryReader(of)
    return reader.page(values, path, reader.filters(values))


async def read(plane: ControlPlane, request: PageRequest, toys: list[str]) -> Page[Toy]:
    sql = "select id from unnest($1::text[]) as t (id) where id < $2 order by id desc limit $3"
    async with plane.database.reading() as tx:
        return await request.fetch(tx, Toy, sql, toys)


async def first_cursor(plane: ControlPlane, request: PageRequest) -> str:
    made = (await read(plane, request, [new_id("toy") for _ in range(5)])).next_cursor
    assert made is not None
    return made


async def test_a_cursor_goes_on_where_it_was_made(plane: ControlPlane):
    toys = [new_id("toy") for _ in range(5)]
    first = await read(plane, asked(limit="2"), toys)
    assert first.next_cursor is not None
    rest = await read(plane, asked(limit="9", cursor=first.next_cursor), toys)
    assert [toy.id for toy in first.items + rest.items] == toys[::-1]
    assert rest.next_cursor is None


async def test_a_cursor_does_not_fit_another_path_or_another_list(plane: ControlPlane):
    cursor = await first_cursor(plane, asked(limit="2"))
    with pytest.raises(CursorInvalid):
        asked(path="/v1/boxes/2/toys", cursor=cursor)
    with pytest.raises(CursorInvalid):
        asked(TRAINS, cursor=cursor)


filters = st.dictionaries(st.sampled_from(["status", "owner"]), st.text(max_size=5))


@given(made_for=filters, used_for=filters)
async def test_a_cursor_fits_exactly_the_filters_it_was_made_for(
    plane: ControlPlane, made_for: dict[str, Any], used_for: dict[str, Any]
):
    cursor = await first_cursor(plane, asked(limit="2", **made_for))
    if made_for == used_for:
        assert asked(cursor=cursor, **used_for).after
    else:
        with pytest.raises(CursorInvalid):
            asked(cursor=cursor, **used_for)


async def test_the_limit_may_change_within_a_walk_and_unknown_parameters_do_not_count(plane: ControlPlane):
    cursor = await first_cursor(plane, asked(limit="2", status="running"))
    assert asked(cursor=cursor, limit="77", status="running", colour="red").limit == 77


@pytest.mark.parametrize("last", ["\0", "toy_\0", "toy_1\0\0"])
def test_a_forged_cursor_cannot_carry_what_the_database_refuses(last: str):
    """The binding is a checksum, not a signature: whoever knows the list can make one."""
    with pytest.raises(CursorInvalid):
        PageRequest.read(limit=1, cursor=_encode_cursor(last, b"list_key"), list_key=b"list_key")


@given(st.integers())
def test_every_limit_is_brought_between_1_and_100(limit: int):
    assert PageRequest.read(limit=limit, cursor=None, list_key=b"").limit == max(1, min(limit, 100))


@given(st.text(), st.binary())
def test_no_text_is_a_cursor_by_chance(text: str, list_key: bytes):
    with pytest.raises(CursorInvalid):
        PageRequest.read(limit=1, cursor=text, list_key=list_key)
