"""Every operation is what the contract says it is."""

from collections.abc import Callable

import pytest

from stead.control.http.operations import Operation
from tests.conftest import FIGURE
from tests.contract.contract_file import PLACE, Key, Row, key_of, rows
from tests.contract.walk import OPERATIONS, each

KIND_OF_ANSWER = {"document": "object"}
"""What a declaration calls differently from the contract."""


@pytest.fixture(scope="session")
def contract() -> dict[Key, Row]:
    found = rows()
    if found is None:
        pytest.skip(f"there is no contract to compare with: {PLACE}, seen from the repository, is not there")
    return found


@pytest.fixture
def row(operation: Operation, contract: dict[Key, Row]) -> Row:
    found = contract.get(key_of(operation))
    assert found is not None, f"{operation.id}: {operation.method} {operation.path} is not in the contract"
    return found


@each()
def test_an_operation_has_the_id_of_its_row(operation: Operation, row: Row, contract: dict[Key, Row]):
    """Ids are unique, so the environment's form of a twin adds a word to the id of the site's form."""
    if row.is_twin:
        assert operation.id.startswith(f"{row.id}_")
        assert operation.id not in {each.id for each in contract.values()}
    else:
        assert operation.id == row.id


@each()
def test_an_operation_asks_for_the_scopes_of_its_row(operation: Operation, row: Row):
    asked = operation.requires
    assert (frozenset(asked.scopes), asked.any_one, asked.public) == row.scopes


@each()
def test_an_operation_answers_as_its_row_says(operation: Operation, row: Row):
    assert operation.status == row.status
    assert KIND_OF_ANSWER.get(operation.answer, operation.answer) == row.returns


@each()
def test_an_operation_is_preview_when_its_row_is(operation: Operation, row: Row):
    assert operation.preview == row.preview


@each()
def test_an_operation_needs_the_capability_of_its_row(operation: Operation, row: Row):
    assert operation.capability == row.capability


@each()
def test_an_operation_starts_the_job_of_its_row(operation: Operation, row: Row):
    declared = getattr(operation, "job", None)
    assert frozenset(declared.split("|") if declared else ()) == row.jobs


def test_no_row_is_implemented_twice(
    contract: dict[Key, Row], record_property: Callable[[str, object], None]
):
    implemented = [key_of(operation) for operation in OPERATIONS]
    assert len(set(implemented)) == len(implemented)
    assert len({operation.id for operation in OPERATIONS}) == len(OPERATIONS)
    built = len(contract.keys() & set(implemented))
    record_property(FIGURE, f"contract: {built} of {len(contract)}")
