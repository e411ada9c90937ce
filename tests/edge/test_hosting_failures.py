"""What a visitor sees when an application cannot be started: a page of our own, without internal details."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from tests.edge.edge_harness import EdgeHarness
from tests.edge.lua import module, runtime

INTERNAL = re.compile(
    r"nginx|php|fpm|fastcgi|socket|\.lua|/tmp/|environments/|upstream|traceback", re.IGNORECASE
)
PAGES = module(runtime(), "pages")


def check_page(answer: httpx.Response, status: int, reason: str, retry_after: str | None) -> None:
    assert (answer.status_code, answer.headers["x-stead-reason"]) == (status, reason)
    assert answer.headers.get("retry-after") == retry_after
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text.startswith("<!doctype html>")
    assert INTERNAL.search(answer.text) is None, answer.text


def make_files(edge: EdgeHarness, name: str) -> Path:
    home = edge.data / "environments" / f"env_{name}"
    (home / "current").mkdir(parents=True)
    (home / "current" / "index.php").write_text("<?php")
    (home / "run").mkdir()
    return home


@pytest.mark.parametrize("ttl", [0, 600])
@pytest.mark.parametrize("waf", ["off", "on"])
async def test_an_application_that_is_not_installed_is_not_ready(
    edge: EdgeHarness, ttl: int, waf: str
) -> None:
    """It is being installed, or its data is lost: the node says which."""
    name = f"absent{ttl}{waf}"
    await edge.site(f"{name}.test", name, None, runtime="cms", waf=waf, cache_ttl=ttl)
    for path in ("/", "/page/", "/wp-login.php", "/wp-admin/", "/missing.css"):
        check_page(await edge.get(f"{name}.test", path), 503, "not_installed", "60")
    home = edge.data / "environments" / f"env_{name}"
    home.mkdir(parents=True)
    (home / "data-lost").touch()
    for path in ("/", "/page/", "/wp-login.php", "/wp-admin/", "/missing.css"):
        check_page(await edge.get(f"{name}.test", path), 503, "data_lost", None)
    # The files of a release are still there when the disk is lost.
    make_files(edge, name)
    check_page(await edge.get(f"{name}.test", f"/of-{name}"), 503, "data_lost", None)
    assert (await edge.ledgered(f"/of-{name}"))["reason"] == "data_lost"


async def test_an_application_that_cannot_be_started_does_not_answer(edge: EdgeHarness) -> None:
    home = make_files(edge, "down")
    await edge.site("down.test", "down", None, runtime="cms", waf="off", cache_ttl=600)
    check_page(await edge.get("down.test"), 502, "origin_unreachable", "5")

    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # As the node does if a start has failed.
        writer.close()

    server = await asyncio.start_unix_server(refuse, home / "run" / "fpm.sock")
    (home / "run" / "fpm.sock").chmod(0o666)
    for path in ("/", "/wp-login.php"):
        check_page(await edge.get("down.test", path), 502, "origin_unreachable", "5")
    server.close()


async def test_a_cached_page_is_served_while_an_application_cannot_be_started(edge: EdgeHarness) -> None:
    app = await edge.application("stale")
    await edge.site("stale.test", "stale", None, runtime="cms", waf="off", cache_ttl=1)
    page = await edge.get("stale.test", "/kept")
    await app.stop()
    for _ in range(30):
        again = await edge.get("stale.test", "/kept")
        assert again.text == page.text
        if again.headers["x-cache"] == "STALE":
            break
        await asyncio.sleep(0.1)
    assert again.headers["x-cache"] == "STALE"
    check_page(await edge.get("stale.test", "/other"), 502, "origin_unreachable", "5")


NEED_ACTION = {
    *(b"suspended", b"unreleased", b"data_lost", b"function_stack_limit", b"function_exception"),
    *(b"function_response_invalid", b"function_response_too_large"),
}
"""Until somebody changes the site or its code, every answer is the same."""


def test_every_page_says_when_to_try_again_if_that_may_help() -> None:
    reasons = PAGES.reasons()
    for reason in (reasons[at] for at in range(1, len(reasons) + 1)):
        status, body, later = PAGES.render(reason)
        assert (later is not None) == (status in {429, 500, 502, 503, 504}) or reason in NEED_ACTION, reason
        assert INTERNAL.search(body.decode()) is None
