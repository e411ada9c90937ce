"""A declaration without what a reviewer must check is refused at import."""

from collections.abc import Callable
from typing import Any

import pytest

from stead.control.http.operations import Call, Operations, PublicCall
from stead.control.http.requirements import ANY_CREDENTIAL, PUBLIC
from stead.control.http.router import Router

Declare = Callable[..., Any]


@pytest.fixture
def operation() -> Operations:
    return Operations(tag="Declared here")


async def handler(call: Call) -> None:
    """Do nothing."""


async def visited(call: PublicCall) -> None:
    """Do nothing for anybody."""


async def speechless(call: Call) -> None:
    pass


async def muttering(call: Call) -> None:
    """do something"""


async def wanting(call: Call, wish: str) -> None:
    """Want what nothing gives."""


async def addressed(call: Call, key_id: str) -> None:
    """Read a part of the path that the path does not have."""


async def unasked(body: dict[str, str]) -> None:
    """Take no call."""


def test_a_proper_declaration_is_taken(operation: Operations):
    operation("GET /v1/things", id="things.get", scope="sites:read")(handler)
    operation("POST /v1/things", id="things.offer", scope=PUBLIC)(visited)
    assert [each.id for each in operation] == ["things.get", "things.offer"]


def test_an_operation_must_say_what_scope_it_needs(operation: Operations):
    declare: Declare = operation
    with pytest.raises(TypeError, match="scope"):
        declare("GET /v1/things", id="things.get")


@pytest.mark.parametrize(
    "scope", ["things:read", "sites", "sites:*", "*", "", "sites:read|things:read", ("sites:read", "x"), ()]
)
def test_a_scope_must_be_in_the_catalog(operation: Operations, scope: Any):
    with pytest.raises(TypeError, match="scope catalog"):
        operation("GET /v1/things", id="things.get", scope=scope)(handler)


@pytest.mark.parametrize("silent", [speechless, muttering])
def test_an_operation_must_say_in_a_sentence_what_it_does(operation: Operations, silent: Declare):
    with pytest.raises(TypeError, match=r"things\.get: the docstring"):
        operation("GET /v1/things", id="things.get", scope="sites:read")(silent)


@pytest.mark.parametrize("greedy", [wanting, addressed])
def test_a_parameter_must_come_from_somewhere(operation: Operations, greedy: Declare):
    with pytest.raises(TypeError, match=r"things\.get: the parameter `\w+` does not correspond"):
        operation("GET /v1/things", id="things.get", scope="sites:read")(greedy)


@pytest.mark.parametrize("scope", ["sites:read", ANY_CREDENTIAL])
@pytest.mark.parametrize("stranger", [visited, unasked])
def test_only_a_public_operation_may_do_without_a_caller(
    operation: Operations, stranger: Declare, scope: Any
):
    with pytest.raises(TypeError, match=r"things\.get: the first parameter must be `call: Call`"):
        operation("GET /v1/things", id="things.get", scope=scope)(stranger)


def test_what_was_refused_is_not_declared(operation: Operations):
    with pytest.raises(TypeError):
        operation("GET /v1/things", id="things.get", scope="sites:read")(wanting)
    assert not list(operation)


def test_two_operations_cannot_share_an_address(operation: Operations):
    operation("GET /v1/things/{a}", id="things.get", scope="sites:read")(handler)
    operation("GET /v1/things/{b}", id="things.see", scope="sites:read")(handler)
    with pytest.raises(TypeError, match="two operations at GET"):
        Router(operation)
