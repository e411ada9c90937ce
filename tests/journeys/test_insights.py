"""Visits through the real edge are seen by the owner: a static site, and a WordPress site."""

from typing import Any

import pytest

from tests.git_server import GitServer
from tests.journeys import projects
from tests.journeys.customer import Customer
from tests.journeys.deliveries import built, deployed
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

    return await until(look, ARRIVES_SECONDS)


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

    # What PHP writes to its log, and what the container uses.
    message = "a message for insights"
    environment = f"{site}/environments/production"
    await customer.run(environment, "eval", f"error_log('PHP Warning:  {message} from 203.0.113.9');")

    async def has_used() -> bool | None:
        found = await customer.get(f"{site}/insights/resources?hours=1")
        points = [point for each in found["containers"] for point in each["points"]]
        return any(point["memory_bytes"] > 0 for point in points) or None

    await until(has_used, ARRIVES_SECONDS)
    series = await customer.get("/v1/metrics?name=requests&hours=1")
    assert site.rpartition("/")[2] in {point["site_id"] for point in series["points"]}
