"""Every operation is what the contract says it is."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from stead.control.http.operations import Operation
from stead.control.jobs.schema import QueuedJob
from tests.conftest import FIGURE
from tests.contract.contract_file import ORIGINAL, Key, Row, key_of, original_rows, rows
from tests.contract.walk import OPERATIONS
from tests.contract.walk import each as each_of

LISTED = [operation for operation in OPERATIONS if operation.extension is None]
"""Operations that the contract must list; the others say why they exist."""
EXTENSIONS = [operation for operation in OPERATIONS if operation.extension is not None]
each_listed = each_of(lambda operation: operation.extension is None)
KIND_OF_ANSWER = {"document": "object"}
"""What a declaration calls differently from the contract."""
KIND_OF_ROW = {"windowed": "object"}
"""A window is an object that says whether it is only a part of what there is; it has no cursor."""


@pytest.fixture(scope="session")
def contract() -> dict[Key, Row]:
    return rows()


@pytest.fixture
def row(operation: Operation, contract: dict[Key, Row]) -> Row:
    found = contract.get(key_of(operation))
    assert found is not None, (
        f"{operation.id}: {operation.method} {operation.path} is not in the contract;"
        " declare `extension=` with the reason"
    )
    return found


@each_listed
def test_an_operation_has_the_id_of_its_row(operation: Operation, row: Row, contract: dict[Key, Row]):
    """Ids are unique, so the environment's form of a twin adds a word to the id of the site's form."""
    if row.is_twin:
        assert operation.id.startswith(f"{row.id}_")
        assert operation.id not in {each.id for each in contract.values()}
    else:
        assert operation.id == row.id


@each_listed
def test_an_operation_asks_for_the_scopes_of_its_row(operation: Operation, row: Row):
    asked = operation.requires
    assert (set(asked.scopes), asked.any_one, asked.public) == (set(row.scopes), row.any_one, row.public)


@each_listed
def test_an_operation_answers_as_its_row_says(operation: Operation, row: Row):
    assert operation.status == row.status
    assert _answer_of(operation) == KIND_OF_ROW.get(row.answer, row.answer)
    if row.answer == "windowed":
        assert "truncated" in operation.shape.__struct_fields__


def _answer_of(operation: Operation) -> str:
    if operation.shape is QueuedJob:
        return "queued"
    return KIND_OF_ANSWER.get(operation.response_kind, operation.response_kind)


@each_listed
def test_an_operation_is_preview_when_its_row_is(operation: Operation, row: Row):
    assert operation.preview == row.preview


@each_listed
def test_an_operation_needs_the_capability_of_its_row(operation: Operation, row: Row):
    assert operation.capability == row.capability


@each_listed
def test_an_operation_starts_the_job_of_its_row(operation: Operation, row: Row):
    declared = getattr(operation, "job", None)
    assert frozenset(declared.split("|") if declared else ()) == row.jobs


def test_an_extension_is_not_in_the_contract_and_says_why_it_exists(
    contract: dict[Key, Row], record_property: Callable[[str, object], None]
):
    assert [each.id for each in EXTENSIONS if key_of(each) in contract] == []
    assert [each.id for each in EXTENSIONS if not (each.extension or "").endswith(".")] == []
    for each in EXTENSIONS:
        record_property(FIGURE, f"contract: extension {each.id}: {each.extension}")


def test_no_row_is_implemented_twice(
    contract: dict[Key, Row], record_property: Callable[[str, object], None]
):
    implemented = [key_of(operation) for operation in OPERATIONS]
    assert len(set(implemented)) == len(implemented)
    assert len({operation.id for operation in OPERATIONS}) == len(OPERATIONS)
    built = len(contract.keys() & set(implemented))
    record_property(FIGURE, f"contract: {built} of {len(contract)}")


def test_the_copy_of_the_contract_says_what_the_original_says(contract: dict[Key, Row]):
    """The original lists no roles: the copy has them from the description of the service."""
    original = original_rows()
    if original is None:
        pytest.skip(f"the original is not beside this checkout: {ORIGINAL}")
    assert {key: replace(row, roles=()) for key, row in contract.items()} == original
