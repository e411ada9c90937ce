"""Which worker gets which tests."""

from tests.scheduling import ALONE, next_unit

QUEUE = (
    "tests/faults/jobs/test_undo.py",
    "tests/faults/jobs/test_load.py",
    "tests/edges",
    "tests/node/test_agent.py",
)


def test_tests_that_wait_have_a_worker_and_the_others_get_the_rest() -> None:
    assert next_unit(QUEUE, waits=True) == "tests/faults/jobs/test_undo.py"
    assert next_unit(QUEUE, waits=False) == "tests/edges"


def test_a_worker_without_tests_of_its_kind_helps_the_others() -> None:
    assert next_unit(QUEUE[2:], waits=True) == "tests/edges"
    assert next_unit(QUEUE[:2], waits=False) == "tests/faults/jobs/test_undo.py"


def test_tests_that_run_alone_come_after_all_others() -> None:
    queue = (*ALONE, *QUEUE[:2])
    assert next_unit(queue, waits=False) == "tests/faults/jobs/test_undo.py"
    assert next_unit(ALONE, waits=True) == ALONE[0]
