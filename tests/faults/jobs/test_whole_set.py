"""What was shown, counted; the last of these modules to run."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.faults.jobs.cases import CASES, TRIED

pytestmark = pytest.mark.faults

EVERYWHERE = (
    *("worker killed", "node killed"),
    *("NATS restarted", "Temporal restarted", "PostgreSQL restarted"),
    *("cancelled", "execution lost"),
)
"""What must have happened in every step of every kind."""


def test_every_fault_was_met_in_every_step_of_every_kind(
    record_property: Callable[[str, object], None],
) -> None:
    if not TRIED:
        pytest.skip("the cases were not run by this process")
    for case in CASES:
        faults = {*EVERYWHERE, *(["refusal"] if case.may_refuse else [])}
        assert faults <= {fault for fault, tried in TRIED if tried == str(case)}, str(case)
    by_fault = Counter(fault for fault, _ in TRIED)
    told = ", ".join(f"{fault} {count}" for fault, count in sorted(by_fault.items()))
    record_property("figure", f"faults: {len(TRIED)} cases ({told})")
