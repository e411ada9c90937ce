"""What a browser and a load balancer see."""

import re

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.shared.errors import catalog
from stead.shared.supervision import TaskStatus


@pytest.fixture
def browser(plane: ControlPlane) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(plane), base_url="http://stead.test")


async def test_every_error_has_a_page_that_says_the_way_out(browser: httpx.AsyncClient):
    for error in catalog():
        page = await browser.get(f"/docs/errors/{error.type}/{error.code}")
        assert page.status_code == 200
        assert "What to do." in page.text
    assert (await browser.get("/docs/errors/permission/no.such")).status_code == 404


async def test_the_reference_loads_nothing_from_elsewhere(browser: httpx.AsyncClient):
    page = await browser.get("/docs")
    assert page.status_code == 200
    assert "://" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert (await browser.get("/docs/page.js")).status_code == 200


async def test_the_reference_leads_to_every_error_and_every_event(
    plane: ControlPlane, browser: httpx.AsyncClient
):
    front = (await browser.get("/docs")).text
    for link, wanted in (
        ("/docs/errors", {f"/docs/errors/{error.type}/{error.code}" for error in catalog()}),
        ("/docs/events", {f"/docs/events/{name}.json" for name in plane.context.event_catalog}),
    ):
        assert f"href={link}>" in front
        page = await browser.get(link)
        assert page.headers["content-security-policy"].startswith("default-src 'self'")
        listed = set(re.findall(rf'href="({link}/[^"]+)"', page.text))
        assert listed == wanted
    schema = await browser.get("/docs/events/deploy.completed.json")
    assert schema.json()["properties"]["type"] == {"const": "deploy.completed"}
    assert (await browser.get("/docs/events/no.such.json")).status_code == 404


async def test_the_versions_page_tells_each_change_and_its_end(browser: httpx.AsyncClient):
    page = (await browser.get("/docs/versions")).text
    assert "2026-07-04" in page
    assert "2027-07-04" in page


async def test_health_is_told_apart_from_readiness(browser: httpx.AsyncClient):
    assert (await browser.get("/healthz")).json() == {"status": "ok"}
    ready = await browser.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert ready.json()["engines"] == {"postgresql": True, "redis": True, "nats": True}


async def test_a_background_task_that_fails_is_shown(plane: ControlPlane, browser: httpx.AsyncClient):
    assert (await browser.get("/readyz")).json()["failing_tasks"] == {}
    failing = TaskStatus(failures=2, consecutive=1, last_error="KeyError", repeats=True)
    plane._tasks._supervisor.statuses["some.task"] = failing
    try:
        ready = await browser.get("/readyz")
        assert (ready.status_code, ready.json()["failing_tasks"]) == (200, {"some.task": "KeyError"})
    finally:
        del plane._tasks._supervisor.statuses["some.task"]
