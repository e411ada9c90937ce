"""Browsers get a script from the edge, and send it what they have measured."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from stead.edge.config import VITALS_SCRIPT
from stead.node.telemetry.ledger_rows import read_line
from stead.node.telemetry.vitals import Vitals
from tests.edge.edge_harness import EdgeHarness
from tests.edge.lua import module, runtime
from tests.journeys.browser import open_browser
from tests.node.harness import until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HOST = "measured.test"


async def ledger_line(edge: EdgeHarness, trace: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        found = [line for line in await edge.ledger_lines(1) if line["trace"] == trace]
        return found[0] if found else None

    return await until(look)


def parse(body: str) -> Any:
    made = runtime()
    made.execute(b"ngx = { var = {} }")
    return module(made, "vitals").parse(body.encode())


def test_values_are_read_and_kept_within_bounds() -> None:
    body = f"trace={TRACE};LCP=1234.5678;CLS=99;INP=1e9;TTFB=9999999;NAME=5;FCP=-1"
    assert parse(body) == f"{TRACE};LCP=1234.5678;CLS=10.0000;INP=1.0000;TTFB=60000.0000".encode()


@pytest.mark.parametrize(
    "body",
    [
        *("", "LCP=1", "trace=;LCP=1", f"trace={TRACE}", f"trace={TRACE};LCP=", f"trace={TRACE[1:]};LCP=1"),
        *(f"trace={TRACE};LCP=1" + "x" * 600, f"trace={TRACE}0;LCP=1", f"\ntrace={TRACE};LCP=1"),
    ],
)
def test_anything_else_is_not_read(body: str) -> None:
    assert parse(body) is None


async def test_a_page_view_can_be_named_by_its_own_script(edge: EdgeHarness) -> None:
    await edge.site(HOST, "measured", {"index.html": "x"})
    answer = await edge.get(HOST)
    assert answer.headers["server-timing"] == f"trace;desc={answer.headers['x-trace-id']}"
    script = await edge.get(HOST, "/_stead/vitals.js")
    assert script.text == VITALS_SCRIPT.read_text()
    assert script.headers["content-type"].startswith("text/javascript")
    assert "max-age" in script.headers["cache-control"]


async def test_what_a_browser_sends_is_in_the_ledger(edge: EdgeHarness) -> None:
    await edge.site(HOST, "measured", {"index.html": "x"})
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("valid", {}, f"{TRACE};LCP=1200.0000"),
        ("does not want to be measured", {"headers": {"sec-gpc": "1"}}, ""),
        ("another origin", {"headers": {"sec-fetch-site": "cross-site"}}, ""),
        ("not a message", {"content": "something"}, ""),
        ("read", {"method": "GET", "content": None}, ""),
    ]
    for number, (name, options, expected) in enumerate(cases):
        wanted = {"method": "POST", "content": f"trace={TRACE};LCP=1200"} | options
        answer = await edge.get(HOST, f"/_stead/vitals?{number}", **wanted)
        assert (answer.status_code, answer.content) == (204, b""), name
        line = await ledger_line(edge, answer.headers["x-trace-id"])
        assert (line["vitals"], line["environment"]) == (expected, "env_measured"), name
    too_large = await edge.get(HOST, "/_stead/vitals", method="POST", content="x" * 5000)
    assert too_large.status_code == 413
    unknown = await edge.get("unknown.test", "/_stead/vitals", method="POST", content="x")
    assert unknown.status_code == (await edge.get("unknown.test")).status_code != 204


async def test_a_body_whose_size_is_not_announced_is_not_read_to_its_end(edge: EdgeHarness) -> None:
    await edge.site(HOST, "measured", {"index.html": "x"})

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 1000

    answer = await edge.get(HOST, "/_stead/vitals", method="POST", content=parts())
    assert answer.status_code == 413


async def test_one_visitor_can_send_only_a_few(edge: EdgeHarness) -> None:
    await edge.site("flooded.test", "flooded", {"index.html": "x"})
    body = f"trace={TRACE};LCP=1200"
    sent = [await edge.get("flooded.test", "/_stead/vitals", method="POST", content=body) for _ in range(40)]
    assert {answer.status_code for answer in sent} == {204, 429}
    assert sum(answer.status_code == 204 for answer in sent) <= 30
    assert (await edge.get("flooded.test")).status_code == 200


PAGE = """<!doctype html><title>x</title><script src="/_stead/vitals.js" async></script>
<div id="late"></div><h1>These are the largest words of the page</h1>
<button onclick="const ends = performance.now() + 80; while (performance.now() < ends);">press</button>
"""
OWN_VALUES = """
  const last = (type) => new Promise((resolve) => {
    const take = (list) => resolve(list.getEntries().at(-1).startTime);
    new PerformanceObserver(take).observe({ type, buffered: true });
  });
  const [navigation] = performance.getEntriesByType('navigation');
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  const largest = await last('largest-contentful-paint');
  return { LCP: largest, FCP: paint.startTime, TTFB: navigation.responseStart };
"""
SHIFT = """
  window.presses = [];
  const pressed = (list) => window.presses.push(...list.getEntries());
  new PerformanceObserver(pressed).observe({ type: 'event', durationThreshold: 40 });
  document.getElementById('late').style.height = '200px';
  const shifts = await new Promise((resolve) => {
    const take = (list) => resolve(list.getEntries());
    new PerformanceObserver(take).observe({ type: 'layout-shift', buffered: true });
  });
  return shifts.reduce((sum, each) => sum + each.value, 0);
"""
PRESSED = """
  const found = window.presses.filter((each) => each.interactionId);
  return found.some((each) => each.name === 'click') ? Math.max(...found.map((each) => each.duration)) : null;
"""


@pytest.mark.timeout(180)
async def test_a_browser_measures_a_page_and_its_values_arrive(edge: EdgeHarness) -> None:
    host = "seen.test"
    await edge.site(host, "seen", {"index.html": PAGE})
    await edge.certificate(host)
    async with open_browser(edge.secure_port) as browser:
        await browser.open(f"https://{host}/")
        await browser.until_reads("largest words")
        await browser.until("return performance.getEntriesByName('first-contentful-paint').length", "painted")
        own = await browser.run(OWN_VALUES)
        # The words move: what the page has loaded late is above them.
        shifted = await browser.run(SHIFT)
        await browser.click("button")
        pressed = await browser.until(PRESSED, "the click was measured")
        await browser.open("about:blank")

        async def sent() -> list[dict[str, Any]] | None:
            lines = [line for line in await edge.ledger_lines(1) if line["environment"] == "env_seen"]
            return lines if any(line["vitals"] for line in lines) else None

        lines = await until(sent)
    [message] = [line for line in lines if line["vitals"]]
    values = dict(value.split("=") for value in message["vitals"].split(";")[1:])
    assert values.keys() == {"LCP", "FCP", "CLS", "INP", "TTFB"}
    for name, expected in own.items():
        assert float(values[name]) == pytest.approx(expected, abs=0.1), name
    assert shifted > 0
    assert float(values["CLS"]) == pytest.approx(shifted, abs=0.001)
    assert pressed >= 80
    assert float(values["INP"]) == pytest.approx(pressed, abs=0.1)

    # The node finds the page view that the message names.
    vitals = Vitals()
    for line in lines:
        visit = read_line(msgspec.json.encode(line))
        assert visit is not None
        (vitals.receive if visit.vitals else vitals.add_page_view)(visit)
    assert vitals.take_rows().count == 5
