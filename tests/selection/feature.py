"""The feature of `--feature`, known before the tests are collected."""

import os

from stead.control.http.operations import Operation

VARIABLE = "STEAD_TEST_FEATURE"


def belongs_to(feature: str, module: str) -> bool:
    return module.startswith(f"stead.control.{feature}.")


def leave_to_feature(operations: list[Operation]) -> list[Operation]:
    """Only the operations of the feature under test: collecting thousands of tests takes as long as running
    some hundred. If it has none of these, the first remains, because a test without cases is an error; its
    tests are left out after the collection."""
    feature = os.environ.get(VARIABLE, "")
    found = [each for each in operations if not feature or belongs_to(feature, each.handler.__module__)]
    return found or operations[:1]
