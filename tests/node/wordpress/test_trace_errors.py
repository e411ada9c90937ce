"""The log line of an error gets the trace of its request."""

import pytest

from stead.node.wordpress.traces import MAX_ERRORS, MAX_SITES, SiteTraces, TraceMessage


def message(error: str, number: int = 1) -> TraceMessage:
    return TraceMessage(f"{number:032x}", 1.8e9, (), error)


@pytest.mark.parametrize(
    "line",
    [
        "PHP Fatal error:  Uncaught Error: it broke in /site/index.php:3",
        "PHP message: PHP Warning:  Uncaught Error: it broke in /site/index.php:3",
        "Uncaught Error: it broke in /site/index.php:3",
    ],
)
def test_a_line_gets_the_trace_of_its_error_once(line: str) -> None:
    traces = SiteTraces()
    traces.add("env_1", message("Uncaught Error: it broke"))
    assert traces.find_trace("env_2", line) == ""
    assert traces.find_trace("env_1", "PHP Warning:  something else") == ""
    assert traces.find_trace("env_1", line) == f"{1:032x}"
    assert traces.find_trace("env_1", line) == ""


def test_errors_of_one_site_do_not_displace_those_of_others() -> None:
    traces = SiteTraces()
    traces.add("env_1", message("this is the error", 7))
    for number in range(5_000):
        traces.add("env_2", message(f"another error {number}"))
    assert traces.find_trace("env_1", "PHP Warning:  this is the error in x") == f"{7:032x}"
    assert len(traces._errors["env_2"]) == MAX_ERRORS
    for number in range(MAX_SITES):
        traces.add(f"env_new_{number}", message("this is the error"))
    assert len(traces._errors) == MAX_SITES
