"""What `--feature` leaves of the tests of every operation."""

import pytest

from stead.control.features import all_operations
from tests.selection import feature

OPERATIONS = all_operations()


def test_only_operations_of_the_feature_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(feature.VARIABLE, "webhooks")
    left = feature.leave_to_feature(OPERATIONS)
    assert {each.handler.__module__ for each in left} == {"stead.control.webhooks.operations"}
    assert [each for each in OPERATIONS if feature.belongs_to("webhooks", each.handler.__module__)] == left


def test_without_a_feature_every_operation_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(feature.VARIABLE, raising=False)
    assert feature.leave_to_feature(OPERATIONS) == OPERATIONS


def test_a_feature_without_such_operations_leaves_one_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(feature.VARIABLE, "a_feature_without_operations")
    assert feature.leave_to_feature(OPERATIONS) == OPERATIONS[:1]
