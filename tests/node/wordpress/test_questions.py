"""A real WordPress answers questions about itself, whatever its plugins do."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.node.drivers.driver_set import DriverSet
from stead.node.questions import PER_SITE, Questions
from stead.protocol import questions as protocol
from stead.protocol.questions import Answer, Question
from tests.node.layer_server import serve_layers
from tests.node.wordpress.wordpress_node import Site, WordPressNode

SECONDS = 40.0
FAMILIES: dict[str, dict[str, Any]] = {
    "components.list": {},
    "content.list": {"type": None, "status": None, "before": 2**63 - 1, "limit": 10},
    "content.create": {"type": "post", "title": "Made meanwhile"},
    "users.list": {"role": None, "before": 2**63 - 1, "limit": 10},
    "cron.list": {},
}
MANY_EVENTS = """
function stead_many() {
    $events = ['version' => 2];
    for ($n = 0; $n < 1000; $n++) {
        $events[2000000000 + $n]['many'][md5('')] = ['schedule' => false, 'args' => []];
    }
    return $events;
}
"""


@pytest.fixture(scope="module")
async def site(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    yield made
    await node.remove(made)


def answering(site: Site) -> Questions:
    drivers = DriverSet([site.node.runtime])
    return Questions("n", None, {"live": drivers, "simulator": drivers})  # type: ignore[arg-type]


async def ask(site: Site, kind: str, seconds: float = SECONDS, **body: Any) -> Answer:
    question = Question("n", "p", "q", site.environment, "live", kind, seconds, msgspec.json.encode(body))
    return await answering(site).answer(question)


async def result(site: Site, kind: str, **body: Any) -> Any:
    answer = await ask(site, kind, **body)
    assert not answer.code, answer
    return msgspec.json.decode(answer.body)


async def refusal(site: Site, kind: str, **body: Any) -> tuple[str, str]:
    answer = await ask(site, kind, **body)
    assert answer.code, answer.body[:300]
    return answer.code, answer.reason


@contextmanager
def plugin(site: Site, code: str) -> Any:
    file: Path = site.put_mu_plugin("hostile.php", code)
    try:
        yield
    finally:
        file.unlink()


async def test_components_are_listed_with_their_status(site: Site):
    site.put_mu_plugin("always.php", "/* Plugin Name: Always */")
    found = (await result(site, "components.list"))["components"]
    assert len({each["id"] for each in found}) == len(found)
    (always,) = [each for each in found if each["type"] == "must_use"]
    assert (always["name"], always["status"], always["kind"]) == ("Always", "active", "plugin")
    active = [each["slug"] for each in found if each["kind"] == "theme" and each["status"] == "active"]
    (theme,) = site.query("select option_value from {schema}.wp_options where option_name = 'stylesheet'")
    assert theme[0] in active
    assert all(each["id"][5] == each["kind"][0] for each in found)
    again = (await result(site, "components.list"))["components"]
    assert again == found


async def test_a_post_is_written_changed_trashed_and_deleted(site: Site):
    made = await result(
        site,
        "content.create",
        type="post",
        title="Hello & welcome",
        content="<p>Text</p><script>steal()</script>",
        status="publish",
        terms={"category": ["News"], "post_tag": ["one", "two"]},
    )
    assert (made["type"], made["status"], made["slug"]) == ("post", "publish", "hello-welcome")
    assert "<script>" not in made["content"]
    assert [each["name"] for each in made["terms"]["category"]] == ["News"]
    path = made["url"].removeprefix(f"https://{site.host}")
    assert "Hello" in (await site.get(path)).text
    changed = await result(site, "content.update", id=made["id"], title="Bye")
    assert (changed["title"], changed["content"]) == ("Bye", made["content"])
    revisions = "select count(*) from {schema}.wp_posts where post_type = 'revision' and post_parent = "
    assert site.query(f"{revisions}{made['id']}") != [(0,)]
    assert await result(site, "content.delete", id=made["id"]) == {"trashed": True}
    assert (await result(site, "content.get", id=made["id"]))["status"] == "trash"
    assert await result(site, "content.delete", id=made["id"]) == {"trashed": False}
    assert (await refusal(site, "content.get", id=made["id"]))[0] == protocol.NOT_FOUND
    code, reason = await refusal(site, "content.create", type="post", title="x", status="no such status")
    assert code == protocol.REFUSED
    assert "status" in reason
    code, reason = await refusal(site, "content.create", type="post", title="x", terms={"colour": ["red"]})
    assert code == protocol.REFUSED
    assert "colour" in reason


async def test_a_file_is_added_to_the_library(site: Site):
    picture = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    with serve_layers() as server:
        server.blobs = {"/dot": picture, "/script": b"<?php phpinfo();", "/empty": b""}

        async def add(path: str, filename: str) -> Answer:
            body = {"type": "media", "filename": filename, "title": "A <b>dot</b>", "content": ""}
            question = Question(
                *("n", "p", "q", site.environment, "live", "content.create", SECONDS),
                msgspec.json.encode(body),
                file=f"{server.address}{path}",
            )
            return await answering(site).answer(question)

        made = await add("/dot", "dot.png")
        assert not made.code, made
        found = msgspec.json.decode(made.body)
        assert (found["type"], found["mime_type"], found["status"]) == ("media", "image/png", "publish")
        seen = await site.get(found["file_url"].removeprefix(f"https://{site.host}"))
        assert seen.content == picture
        for path, filename in (
            *(("/script", "x.php"), ("/script", "x.png"), ("/dot", "../x.php"), ("/dot", "x.svg")),
            *(("/missing", "x.png"), ("/empty", "x.png")),
        ):
            refused = await add(path, filename)
            assert refused.code == protocol.REFUSED, (path, filename, refused)
        server.blobs["/dot"] = b"x" * (protocol.MAX_FILE_BYTES + 1)
        assert (await add("/dot", "dot.png")).code == protocol.REFUSED
    again = await result(site, "content.list", type="media", status=None, before=2**63 - 1, limit=10)
    assert [each["id"] for each in again["items"]] == [found["id"]]
    assert await result(site, "content.delete", id=found["id"]) == {"trashed": False}


async def test_a_list_is_stable_while_posts_are_added(site: Site):
    for number in range(4):
        await result(site, "content.create", type="page", title=f"Page {number}", status="draft")
    wanted = {"type": "page", "status": "draft", "limit": 3}
    first = (await result(site, "content.list", before=2**63 - 1, **wanted))["items"]
    await result(site, "content.create", type="page", title="Later", status="draft")
    second = (await result(site, "content.list", before=first[-1]["id"], **wanted))["items"]
    ids = [each["id"] for each in (*first, *second)]
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids, reverse=True)
    assert "Later" not in [each["title"] for each in (*first, *second)]
    everything = await result(site, "content.list", type=None, status=None, before=2**63 - 1, limit=100)
    assert {each["type"] for each in everything["items"]} >= {"post", "page"}


async def test_users_are_managed_and_an_administrator_stays(site: Site):
    made = await result(
        site, "users.create", login="ada", email="ada@example.com", role="editor", display_name="Ada"
    )
    assert (made["login"], made["roles"]) == ("ada", ["editor"])
    assert (await refusal(site, "users.create", login="ada", email="a@example.com", role="editor"))[0] == (
        protocol.REFUSED
    )
    code, reason = await refusal(site, "users.update", id=made["id"], role="emperor")
    assert code == protocol.REFUSED
    assert "administrator" in reason
    found = (await result(site, "users.list", role="administrator", before=2**63 - 1, limit=10))["items"]
    (admin,) = found
    for kind, body in (("users.delete", {}), ("users.update", {"role": "editor"})):
        code, reason = await refusal(site, kind, id=admin["id"], **body)
        assert code == protocol.REFUSED
        assert "last" in reason
    post = await result(site, "content.create", type="post", title="By Ada", author=made["id"])
    code, reason = await refusal(site, "users.delete", id=made["id"])
    assert code == protocol.REFUSED
    assert "reassign" in reason
    await result(site, "users.delete", id=made["id"], reassign=admin["id"])
    assert (await result(site, "content.get", id=post["id"]))["author"] == admin["id"]
    assert (await refusal(site, "users.get", id=made["id"]))[0] == protocol.NOT_FOUND


async def test_events_keep_their_identifiers(site: Site):
    far = int(time.time()) + 86_400
    once = await result(site, "cron.create", hook="say", args=["once", 1], recurrence=None, time=far)
    daily = await result(site, "cron.create", hook="say", args=[], recurrence="daily", time=far)
    assert (once["recurrence"], once["time"], daily["recurrence"]) == (None, far, "daily")
    listed = (await result(site, "cron.list"))["events"]
    assert {once["id"], daily["id"]} <= {each["id"] for each in listed}
    moved = await result(site, "cron.update", id=daily["id"], recurrence="daily", time=far + 60)
    assert (moved["id"], moved["time"]) == (daily["id"], far + 60)
    code, reason = await refusal(site, "cron.update", id=daily["id"], recurrence="yearly", time=None)
    assert code == protocol.REFUSED
    assert "hourly" in reason
    for event in (once, daily):
        await result(site, "cron.delete", id=event["id"])
        assert (await refusal(site, "cron.get", id=event["id"]))[0] == protocol.NOT_FOUND


async def test_events_do_not_fill_the_options_of_a_site(site: Site):
    """WordPress reads all of them for each visitor."""
    far, long = int(time.time()) + 86_400, "x" * 5000
    made = []
    for number in range(3):
        wanted: dict[str, Any] = {
            "hook": f"long{number}",
            "args": [long] * 25,
            "recurrence": None,
            "time": far,
        }
        made.append(await ask(site, "cron.create", **wanted))
    assert [each.code for each in made] == ["", "", protocol.REFUSED]
    with plugin(site, "add_filter('pre_option_cron', fn() => stead_many());" + MANY_EVENTS):
        code, reason = await refusal(site, "cron.create", hook="x", args=[], recurrence="daily", time=None)
        assert (code, "1000 events" in reason) == (protocol.REFUSED, True)
        assert len((await result(site, "cron.list"))["events"]) == 1000
    for each in made[:2]:
        await result(site, "cron.delete", id=msgspec.json.decode(each.body)["id"])


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('exit("gone");', "ended the request"),
        ("undefined_function();", "undefined_function"),
        ('add_action("init", fn() => throw new Exception("no"));', "no"),
        ('add_action("init", function () { die("<html>maintenance</html>"); });', "ended the request"),
    ],
)
async def test_a_plugin_that_crashes_gives_a_clear_error(site: Site, code: str, found: str):
    with plugin(site, code):
        for kind, body in FAMILIES.items():
            failed, reason = await refusal(site, kind, **body)
            assert (failed, found in reason) == (protocol.FAILED, True), (kind, reason)


@pytest.mark.parametrize(
    "code",
    [
        'echo "<html>";',
        'add_action("shutdown", function () { echo "<footer>"; });',
        "ob_start(fn($text) => strtoupper($text));",
        'register_shutdown_function(function () { echo str_repeat("x", 100000); });',
        'add_filter("wp_redirect", fn() => "https://example.com"); header("Location: /");',
    ],
)
async def test_what_a_plugin_prints_does_not_matter(site: Site, code: str):
    with plugin(site, code):
        for kind, body in FAMILIES.items():
            assert await result(site, kind, **body), kind


async def test_a_site_that_hangs_costs_two_workers_and_no_more(node: WordPressNode):
    site = await node.create()
    try:
        await result(site, "components.list")
        with plugin(site, "if (isset($_SERVER['STEAD_QUESTION'])) { sleep(10); }"):
            questions, began = answering(site), time.monotonic()
            asked = [
                Question("n", "p", "q", site.environment, "live", kind, 2.0, msgspec.json.encode(body))
                for kind, body in list(FAMILIES.items()) * 3
            ][: PER_SITE + 4]
            answers = await asyncio.gather(*(questions.answer(each) for each in asked))
            assert time.monotonic() - began < 20
            codes = [each.code for each in answers]
            assert codes.count(protocol.TOO_MANY) == 4
            assert codes.count(protocol.TIMEOUT) == PER_SITE
            # Visitors still find a worker.
            assert (await site.get("/")).status_code == 200
    finally:
        await node.remove(site)


async def test_a_sleeping_site_wakes_and_a_suspended_one_refuses(site: Site):
    await site.hosted.sleep()
    assert (await result(site, "components.list"))["components"]
    await site.hosted.suspend()
    try:
        assert (await refusal(site, "components.list"))[0] == protocol.SUSPENDED
    finally:
        site.hosted.resume()


async def test_other_questions_and_environments_are_refused(site: Site):
    assert (await refusal(site, "content.explode"))[0] == protocol.FAILED
    assert (await refusal(site, "system.shell"))[0] == protocol.FAILED
    question = Question("n", "p", "q", "env_00000000000000000000000000", "live", "components.list", 5.0)
    assert (await answering(site).answer(question)).code == protocol.NO_ENVIRONMENT


async def test_visitors_cannot_ask(site: Site):
    for path in ("/run/stead/platform/question.php", "/question.php", "/wp-json/"):
        text = (await site.get(path)).text
        assert "components" not in text
