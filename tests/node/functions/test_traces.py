"""Requests of functions in traces: which request of a visitor they belong to, and what their parts took."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.node.functions import control_link
from stead.node.functions.call_spans import BURST, CallSpans
from stead.node.functions.control_link import HostAnswer, HostOrder
from stead.node.functions.sandbox.tracing import read_trace
from stead.node.functions.spec import FunctionSpec
from stead.node.uninterrupted import run_in_thread
from tests.node.functions import modules
from tests.node.functions.hosting import Hosting, binding
from tests.node.functions.modules import answering, calling
from tests.node.harness import until

TRACE, VISITOR = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
EDGE = TRACE[8:24]
SAMPLED = f"traceparent: 00-{TRACE}-{VISITOR}-01\r\n"


async def _report(host: Hosting, spec: FunctionSpec) -> dict[str, Any]:
    """What a process reports after its visitor has the answer."""

    async def look() -> dict[str, Any] | None:
        return next((report for version, report in host.reports if version == spec.version), None)

    return await until(look)


def _spans(spec: FunctionSpec, *reports: dict[str, Any]) -> list[Any]:
    spans = CallSpans()
    for report in reports:
        spans.add(spec, report)
    return list(spans.take())


async def test_a_request_is_a_part_of_the_edge_and_its_calls_are_parts_of_it(host: Hosting) -> None:
    bound = (binding("kv", "STORE", namespace="a"),)
    spec = await host.serve(calling("kv.get", {"binding": "STORE", "key": "k"}, times=2), bindings=bound)
    seen = await host.ask(spec, "/page?secret=1", headers=SAMPLED)
    assert seen is not None
    assert seen.status == 200
    whole, *parts = _spans(spec, await _report(host, spec))
    assert (whole.trace_id, whole.parent_id, whole.service) == (TRACE, EDGE, "function")
    assert (whole.name, whole.status_code) == (f"POST /page ({spec.version})", 200)
    assert whole.environment == spec.environment
    assert [(part.service, part.name, part.parent_id) for part in parts] == [
        ("state", "kv.get STORE", whole.span_id)
    ] * 2
    assert sum(part.duration_us for part in parts) <= whole.duration_us


async def test_a_function_sees_its_own_span_so_that_what_it_requests_belongs_to_it(host: Hosting) -> None:
    spec = await host.serve(modules.ECHO)
    seen = await host.ask(spec, headers=SAMPLED)
    assert seen is not None
    report = await _report(host, spec)
    assert seen.headers["traceparent"] == f"00-{TRACE}-{report['trace']['span']}-01"


async def test_a_function_that_another_one_calls_is_a_part_of_that(host: Hosting) -> None:
    target = await host.serve(answering(), site="site_s")
    bound = (binding("service", "OTHER", target=target.function),)
    caller = await host.serve(
        calling("service.call", {"binding": "OTHER", "url": "/"}), site="site_s", bindings=bound
    )
    assert await host.ask(caller, headers=SAMPLED) is not None
    outer, inner = await _report(host, caller), await _report(host, target)
    assert inner["trace"]["parent"] == outer["trace"]["span"]
    assert inner["trace"]["id"] == TRACE


@pytest.mark.parametrize("flags", ["00", "01"])
async def test_requests_that_were_not_chosen_are_recorded_only_if_they_fail(
    host: Hosting, flags: str
) -> None:
    fine, trap = await host.serve(answering()), await host.serve(modules.TRAP)
    header = f"traceparent: 00-{TRACE}-{VISITOR}-{flags}\r\n"
    await host.ask(fine, headers=header)
    await host.ask(trap, headers=header)
    (span,) = _spans(trap, await _report(host, trap))
    assert (span.is_error, span.status_code) == (True, 503)
    assert bool([each for each in host.reports if each[0] == fine.version]) == (flags == "01")


async def test_a_request_whose_process_is_killed_is_recorded(host: Hosting) -> None:
    spec = await host.serve(modules.SLEEP, wall_ms=200)
    assert await host.ask(spec, headers=SAMPLED) is None
    report = await _report(host, spec)
    assert (report["reason"], report["is_traced"]) == ("function_time_limit", True)
    (span,) = _spans(spec, report)
    assert (span.trace_id, span.is_error) == (TRACE, True)
    assert span.duration_us > 200_000


@pytest.mark.parametrize(
    "header",
    [
        *("", "00", f"00-{TRACE}-{VISITOR}", f"01-{TRACE}-{VISITOR}-01", f"00-{TRACE.upper()}-{VISITOR}-01"),
        *(f"00-{'0' * 32}-{VISITOR}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE}-{VISITOR}-01\n"),
    ],
)
def test_what_is_no_trace_context_is_ignored(header: str) -> None:
    assert read_trace(header, from_edge=True) is None


SPEC = FunctionSpec("fn_1", "fnv_1", "site_1", "env_1", "rel", True, 64, 500, 1000)
REPORT: dict[str, Any] = {
    "trace": {"id": TRACE, "parent": EDGE, "span": VISITOR},
    "began": 1.7e9,
    "name": "GET /",
    "wall_ms": 1.5,
}


@pytest.mark.parametrize(
    "change",
    [
        {"trace": "x"},
        {"trace": {**REPORT["trace"], "span": "x"}},
        {"began": "now"},
        {"began": 1e300},
        {"name": "x" * 1000},
        {"wall_ms": -1},
        {"calls": [["edge", "forged", 0, 0, False]]},
        {"calls": [["state", "kv.get", 0, 0, False]] * 1000},
        {"calls": None},
    ],
)
def test_a_process_cannot_report_what_is_no_span(change: dict[str, Any]) -> None:
    assert len(_spans(SPEC, REPORT)) == 1
    assert _spans(SPEC, {**REPORT, **change}) == []


def test_a_function_that_reports_too_much_does_not_take_the_place_of_others() -> None:
    spans = CallSpans()
    for _ in range(2 * BURST):
        spans.add(SPEC, REPORT)
    spans.add(msgspec.structs.replace(SPEC, environment="env_2"), REPORT)
    taken = spans.take()
    assert {span.environment for span in taken} == {"env_1", "env_2"}
    assert len(taken) < 1.5 * BURST


async def test_the_agent_takes_spans_from_the_host(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    assert await run_in_thread(control_link.take_spans, path) == ()
    spans = CallSpans()
    for _ in range(1000):
        spans.add(SPEC, REPORT)

    async def obey(order: HostOrder) -> HostAnswer:
        assert order.action == "spans"
        return HostAnswer(ok=True, spans=spans.take())

    server = await control_link.serve_orders(path, obey)
    async with server:
        taken = await run_in_thread(control_link.take_spans, path)
        assert (len(taken), taken[0].trace_id) == (1000, TRACE)
        assert await run_in_thread(control_link.take_spans, path) == ()
