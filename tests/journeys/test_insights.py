"""Visits through the real edge are seen by the owner: a static site, and a WordPress site. Operators see what
the programs record about themselves."""

import re
import secrets
from typing import Any

import pytest

from stead.dev.engines import ENGINES
from stead.dev.programs import steadctl
from stead.dev.running_stack import RunningStack
from stead.protocol.subjects import Program
from tests.git_server import GitServer
from tests.journeys import projects
from tests.journeys.customer import Customer
from tests.journeys.deliveries import built, deployed
from tests.journeys.managed_site import ManagedSite, front_page
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import WordPressSite
from tests.node.harness import until

ARRIVES_SECONDS = 120
"""A node sends what is new every ten seconds."""


async def rows_of(customer: Customer, site: str, path: str, *, count: int) -> list[dict[str, Any]]:
    """The requests for a path, as soon as there are so many."""

    async def look() -> list[dict[str, Any]] | None:
        found = await customer.get(f"{site}/insights/requests?hours=1&q={path}")
        rows: list[dict[str, Any]] = [row for row in found["requests"] if row["path"] == path]
        return rows if len(rows) >= count else None

    return await until(look, ARRIVES_SECONDS, pause=0.5)


async def trace_of(customer: Customer, site: str, trace_id: str, *, services: set[str]) -> dict[str, Any]:
    """The trace, as soon as it has spans of these services."""

    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] = await customer.get(f"{site}/insights/traces/{trace_id}")
        return found if services <= {span["service"] for span in found["spans"]} else None

    return await until(look, ARRIVES_SECONDS, pause=0.5)


@pytest.mark.timeout(400)
async def test_visits_of_a_static_site_are_counted_once(
    customer: Customer, visitor: Visitor, git_server: GitServer
) -> None:
    repository = git_server.create("counted.git")
    first = projects.write(repository, "counted words")
    domain = "counted.example.com"
    wanted = {"domain": domain, "profile": "static", "git_repo": repository.url, "git_branch": "main"}
    created = await customer.does("POST", "/v1/sites", wanted)
    site = f"/v1/sites/{created['resource']['site_id']}"
    production = f"{site}/environments/production"
    await deployed(customer, production, (await built(customer, production, first))["artifact_id"])
    await visitor.until(domain, "counted words")

    traces = set()
    for number in range(5):
        answer = await visitor.get(domain, f"/missing?secret={number}")
        assert answer.status == 404
        traces.add(answer.headers["x-trace-id"])
    rows = await rows_of(customer, site, "/missing", count=5)
    assert {row["trace_id"] for row in rows} == traces
    assert len(rows) == len(traces) == 5
    assert {(row["status"], row["host"], row["network"]) for row in rows} == {(404, domain, "127.0.0.0")}
    assert "secret" not in str(rows)

    volume = await customer.get(f"{site}/insights/requests/volume?hours=1")
    everything = await customer.get(f"{site}/insights/requests?hours=1")
    assert volume["requests"] == len(everything["requests"])
    assert sum(bucket["client_errors"] for bucket in volume["buckets"]) >= 5
    twin = await customer.get(f"{production}/insights/requests?hours=1&q=/missing")
    assert len(twin["requests"]) == 5
    assert everything["as_of"] is not None
    assert everything["gaps"] == []


@pytest.mark.timeout(600)
async def test_visits_and_messages_of_a_wordpress_site_are_shown(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite
) -> None:
    site, host = wordpress_site.path, wordpress_site.host
    await visitor.until(host, "wp-submit", "/wp-login.php")
    answer = await visitor.get(host, "/wp-login.php")
    assert answer.status == 200
    rows = await rows_of(customer, site, "/wp-login.php", count=2)
    [row] = [row for row in rows if row["trace_id"] == answer.headers["x-trace-id"]]
    assert (row["status"], row["method"], row["host"]) == (200, "GET", host)
    assert row["first_byte_ms"] > 0

    # The owner asks for a trace of every request. Visitors give it its id, and cannot ask for one.
    await customer.does("PATCH", f"{site}/config", {"observability": {"trace_sample_rate": 1.0}})
    trace_id = secrets.token_hex(16)
    async with visitor.browser(host) as browser:
        traced = await browser.get(
            "/wp-login.php", headers={"traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-00"}
        )
    assert traced.headers["x-trace-id"] == trace_id
    trace = await trace_of(customer, site, trace_id, services={"edge", "php", "database"})
    names = {span["name"] for span in trace["spans"]}
    assert {"GET /wp-login.php", "WordPress", "load plugins"} <= names
    assert any(name.startswith("SELECT ") for name in names)
    assert not any("'" in name for name in names), "queries have no values"
    [root] = [span for span in trace["spans"] if span["service"] == "edge"]
    [whole] = [span for span in trace["spans"] if span["name"] == "WordPress"]
    assert whole["parent_id"] == root["span_id"]
    assert whole["duration_ms"] <= root["duration_ms"] + 50

    async def has_used() -> bool | None:
        found = await customer.get(f"{site}/insights/resources?hours=1")
        points = [point for each in found["containers"] for point in each["points"]]
        return any(point["memory_bytes"] > 0 for point in points) or None

    await until(has_used, ARRIVES_SECONDS, pause=0.5)
    series = await customer.get("/v1/metrics?name=requests&hours=1")
    assert site.rpartition("/")[2] in {point["site_id"] for point in series["points"]}


@pytest.mark.timeout(600)
async def test_a_failed_request_is_a_ledger_row_a_log_line_and_a_trace_with_one_id(
    customer: Customer, visitor: Visitor, managed_site: ManagedSite
) -> None:
    site, host, repository = managed_site.path, managed_site.host, managed_site.repository
    production = f"{site}/environments/production"
    broken = "fine'; if (isset($_GET['fail'])) { missing_for_insights(); } echo '"
    forge = await managed_site.connect(customer, {"pattern": "main", "target": "live"})
    commit = repository.commit(**front_page(broken))
    await forge.tell("main", commit, before=managed_site.first)
    await deployed(customer, production, (await built(customer, production, commit))["artifact_id"])
    await visitor.until(host, "fine")

    failed = await visitor.get(host, "/?fail=1")
    assert failed.status == 500
    trace_id = failed.headers["x-trace-id"]

    trace = await trace_of(customer, site, trace_id, services={"edge", "php"})
    assert {span["status"] for span in trace["spans"] if span["service"] == "edge"} == {"error"}
    rows = (await customer.get(f"{site}/insights/requests?hours=1&status=5xx"))["requests"]
    assert trace_id in {row["trace_id"] for row in rows}

    async def look() -> list[dict[str, Any]] | None:
        found = await customer.get(f"{site}/insights/logs?hours=1&trace_id={trace_id}")
        return found["lines"] or None

    [line] = await until(look, ARRIVES_SECONDS, pause=0.5)
    assert "missing_for_insights()" in line["body"]
    assert line["severity_text"] == "ERROR"


@pytest.mark.timeout(300)
async def test_operators_see_what_all_programs_record_about_themselves_and_no_tenants(
    stack: RunningStack, customer: Customer
) -> None:
    """Over NATS, every half minute."""
    settings = stack.environment(Program.WORKER, ENGINES)
    await customer.get("/v1/sites")
    expected = ("stead_requests_total", " api/", " worker/", " node/")

    async def of_all_programs() -> str | None:
        shown = await steadctl(settings, "insights", "metrics")
        return shown if all(each in shown for each in expected) else None

    metrics = await until(of_all_programs, ARRIVES_SECONDS, pause=2)
    assert "worker.ready" in await steadctl(settings, "insights", "logs", "--program", "worker")
    lines = await steadctl(settings, "insights", "logs", "--limit", "10000")
    for shown in (metrics, lines, await steadctl(settings, "insights")):
        assert re.search(r"\b[a-z]+_[0-9a-z]{26}\b", shown) is None
        assert "example.com" not in shown
