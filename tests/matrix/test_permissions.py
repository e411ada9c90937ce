"""Every operation × every role × every credential: allowed, refused or not found, as the contract says."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.features import all_operations
from stead.control.http.operations import BodyInput, Operation, ResourceInput
from stead.shared.roles import Role
from tests import own_database
from tests.client import Client
from tests.conftest import FIGURE
from tests.matrix.asking import IN_PATH, Asking, ask, body
from tests.matrix.permission_tables import ALLOWED_ON_ONESELF, row_of
from tests.matrix.rules import (
    VISIBLE,
    Expected,
    concerns_more_than_test_mode,
    expected,
    flavours,
    flavours_with_test_mode,
)
from tests.matrix.world import Flavour, World
from tests.matrix.worlds import Worlds
from tests.selection.feature import leave_to_feature

settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous

OPERATIONS = all_operations()
each_operation = pytest.mark.parametrize(
    "operation", leave_to_feature(OPERATIONS), ids=lambda operation: operation.id
)

ABOUT_TEST_MODE = {"session", "full key", "test key"}
"""Who is asked about things in test mode: the others are no different there."""


@dataclass(frozen=True)
class Combination:
    role: Role
    flavour: Flavour
    oneself: bool
    place: int
    """Of the caller among all callers."""


def _combinations(operation: Operation, worlds: dict[Role, World]) -> Iterator[Combination]:
    whom = (False, True) if operation.id in ALLOWED_ON_ONESELF else (False,)
    for role, flavour, oneself in product(Role, flavours_with_test_mode(operation), whom):
        for place, caller in enumerate(worlds[role].callers(operation)):
            if flavour != "test" or caller.name in ABOUT_TEST_MODE:
                yield Combination(role, flavour, oneself, place)


@each_operation
@pytest.mark.usefixtures("cheap_passwords")
async def test_each_credential_may_do_exactly_what_the_contract_says(
    operation: Operation,
    plane: ControlPlane,
    anonymous: Client,
    worlds: Worlds,
):
    shared = {role: await worlds.shared(role) for role in Role}
    wrong, outcomes = [], []
    for each in _combinations(operation, shared):
        world = shared[each.role]
        caller = list(world.callers(operation))[each.place]
        told = expected(operation, world, caller, each.flavour, oneself=each.oneself)
        if told.succeeds and operation.method != "GET":
            world = await worlds.fresh(each.role, operation)
            caller = list(world.callers(operation))[each.place]
        asking = Asking(operation, world, caller, each.flavour, oneself=each.oneself)
        answer = await ask(plane, anonymous, asking)
        outcomes.append(told)
        if not _is_as_told(answer, told):
            wrong.append(f"{caller.name}, {each}: {told}, got {answer.status_code} {answer.text[:200]}")
    assert len(outcomes) == len(list(_combinations(operation, shared)))
    assert not wrong, f"{len(wrong)} of {len(outcomes)}:\n" + "\n".join(wrong)
    assert any(told.succeeds for told in outcomes), "nobody may do this: then nothing was tested"
    assert row_of(operation).public or any(not told.succeeds for told in outcomes)


def _is_as_told(answer: httpx.Response, told: Expected) -> bool:
    if answer.status_code != told.status or told.code is None:
        return answer.status_code == told.status
    error = answer.json()["error"]
    return error["code"] == told.code and told.named in error["message"]


@each_operation
def test_every_path_parameter_and_resource_of_an_operation_is_covered(operation: Operation):
    assert set(operation.path_parameters) <= IN_PATH.keys()
    assert {each.type for each in operation.inputs_of(ResourceInput)} <= VISIBLE.keys()


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS if each.input_of(BodyInput)], ids=lambda operation: operation.id
)
async def test_every_documented_body_can_be_filled_in(operation: Operation, worlds: Worlds):
    world = await worlds.shared(Role.OWNER)
    caller = next(world.callers(operation))
    assert body(Asking(operation, world, caller, flavours(operation)[0])) is not None


async def test_the_matrix_is_told_with_its_size(
    worlds: Worlds, record_property: Callable[[str, object], None]
):
    shared = {role: await worlds.shared(role) for role in Role}
    sizes = [len(list(_combinations(operation, shared))) for operation in OPERATIONS]
    assert min(sizes) >= len(Role) * 10, "an operation was left out"
    record_property(FIGURE, f"matrix: {sum(sizes)} combinations of {len(sizes)} operations")


@pytest.mark.parametrize("method", ["GET", "mutation"])
async def test_the_test_key_is_told_with_its_refusals(
    method: str, worlds: Worlds, record_property: Callable[[str, object], None]
):
    private = [each for each in OPERATIONS if not each.requires.public]
    chosen = [each for each in private if (each.method == "GET") == (method == "GET")]
    refused = {each.id for each in chosen if concerns_more_than_test_mode(each)}
    assert refused == {each.id for each in chosen if not each.test_keys}
    assert refused
    record_property(FIGURE, f"matrix, test key, {method}: {len(refused)} of {len(chosen)} refused")


def test_there_are_no_two_operations_with_one_name():
    assert len({operation.id for operation in OPERATIONS}) == len(OPERATIONS)
