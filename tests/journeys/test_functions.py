"""Functions with everything real: built in the sandbox, served by the edge over HTTPS."""

from typing import Any

import pytest

from tests.journeys.customer import Customer
from tests.journeys.visitor import Visitor

DOMAIN = "functions.example.com"

HELLO = """
let calls = 0;
export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname.endsWith("/loop")) for (;;) {}
    if (url.pathname.endsWith("/throw")) throw new Error("it broke");
    return Response.json({
      version: 1, calls: ++calls, path: url.pathname, name: url.searchParams.get("name"),
      greeting: env.GREETING, host: request.headers.get("host"),
    });
  },
};
"""


async def _site(customer: Customer, domain: str) -> str:
    job = await customer.does("POST", "/v1/sites", {"domain": domain, "profile": "wasm"})
    return str(job["resource"]["site_id"])


async def _built(customer: Customer, function: dict[str, Any]) -> dict[str, Any]:
    """The function when its build and the deployment that follows have succeeded."""
    await customer.follow(function["last_build_job_id"])
    jobs = await customer.get(f"/v1/jobs?site_id={function['site_id']}&resource_type=function")
    await customer.follow(jobs[0]["id"])
    read: dict[str, Any] = await customer.get(f"/v1/functions/{function['id']}")
    return read


@pytest.mark.timeout(900)
async def test_a_function_answers_on_the_domain_of_its_site(customer: Customer, visitor: Visitor) -> None:
    site = await _site(customer, DOMAIN)
    new = {
        "site_id": site,
        "slug": "hello",
        "display_name": "Hello",
        "source": HELLO,
        "env": {"GREETING": "good morning"},
        "limits": {"wall_ms": 3000},
    }
    function = await customer.post("/v1/functions", new)
    assert function["build_status"] == "building"
    live = await _built(customer, function)
    assert live["build_status"] == "live", live
    seen = await visitor.until(DOMAIN, "good morning", "/_fn/hello?name=Ada")
    assert seen.status == 200
    assert '"name":"Ada"' in seen.text
    assert f'"host":"{DOMAIN}"' in seen.text
    assert (await visitor.get(DOMAIN, "/_fn/other")).status == 404
    assert (await visitor.get(DOMAIN, "/_fn/hello/below")).status == 200
    broken = await visitor.get(DOMAIN, "/_fn/hello/throw")
    assert (broken.status, broken.headers["x-stead-reason"]) == (500, "function_exception")
    endless = await visitor.get(DOMAIN, "/_fn/hello/loop")
    assert endless.status == 503
    assert endless.headers["x-stead-reason"] in ("function_time_limit", "function_stopped")
    assert (await visitor.get(DOMAIN, "/_fn/hello")).status == 200
