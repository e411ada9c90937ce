# ruff: noqa: E501 - PHP in one line is easier to read
"""The edge caches pages of WordPress, and fetches them again when something they show has changed."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest

from stead.node.wordpress.purge_queue import MAX_TAGS, PurgeQueue
from tests.node.harness import until
from tests.node.wordpress.wordpress_node import Site, WordPressNode
from tests.patience import slowdown, time_limit

LOAD = 'require "/srv/site/wp-load.php"; wp_set_current_user(1);'
SAY = '$s = stream_socket_client("unix:///run/platform/agent.sock"); fwrite($s, %s . "\\n"); echo fgets($s);'
CONTENT = """
    $cat = wp_insert_term("News", "category")["term_id"];
    $user = wp_insert_user(["user_login" => "second", "user_pass" => "x", "role" => "author"]);
    foreach (["First", "Second"] as $title) {
        echo wp_insert_post(["post_title" => $title, "post_content" => "Words", "post_status" => "publish"]), " ";
    }
    echo wp_insert_post([
        "post_title" => "Third", "post_status" => "publish", "post_author" => $user, "post_category" => [$cat],
    ]), " ";
    echo wp_insert_post(["post_title" => "About", "post_status" => "publish", "post_type" => "page"]);
"""
PAGES = ("/", "/first/", "/about/", "/feed/", "/category/news/", "/author/second/")


@pytest.fixture(scope="module")
async def site(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    await node.announce(made, cache_ttl=3600)
    made.numbers = dict(
        zip(("first", "second", "third", "about"), (await run(made, CONTENT)).split(), strict=True)
    )
    yield made
    await node.remove(made)


async def run(site: Site, code: str) -> str:
    return await site.run_php(LOAD + re.sub(r"\{(\w+)\}", lambda found: site.numbers[found[1]], code))


async def is_cached(site: Site, path: str) -> bool:
    response = await site.get(path)
    assert "cache-tag" not in response.headers
    return response.headers["x-cache"] == "HIT"


async def warm(site: Site, *paths: str) -> None:
    for path in paths:

        async def look(path: str = path) -> bool | None:
            return await is_cached(site, path) or None

        await until(look, 20)


async def becomes_uncached(site: Site, path: str) -> None:
    async def look() -> bool | None:
        return not await is_cached(site, path) or None

    await until(look, 20)


CHANGES = {
    "an edited text": (
        'wp_update_post(["ID" => {first}, "post_content" => "Other words"]);',
        ["/", "/first/", "/feed/"],
        ["/about/", "/category/news/", "/author/second/"],
    ),
    "a new title": (
        'wp_update_post(["ID" => {third}, "post_title" => "Third, renamed"]);',
        ["/", "/feed/", "/category/news/", "/author/second/"],
        ["/about/"],
    ),
    "a new post": (
        'wp_insert_post(["post_title" => "New", "post_status" => "publish"]);',
        ["/", "/feed/"],
        ["/about/", "/category/news/", "/author/second/"],
    ),
    "a post that becomes a draft": (
        'wp_update_post(["ID" => {second}, "post_status" => "draft"]);',
        ["/", "/feed/"],
        ["/about/", "/category/news/"],
    ),
    "a post in the trash": (
        "wp_publish_post({second}); wp_trash_post({second});",
        ["/", "/feed/"],
        ["/about/", "/author/second/"],
    ),
    "another category": (
        'wp_set_object_terms({first}, ["news"], "category", true);',
        ["/", "/first/", "/category/news/"],
        ["/about/", "/author/second/"],
    ),
    "a renamed category": (
        '$t = get_term_by("slug", "news", "category"); wp_update_term($t->term_id, "category", ["name" => "Newer"]);',
        ["/category/news/"],
        ["/about/"],
    ),
    "an approved comment": (
        '$c = ["comment_post_ID" => {first}, "comment_content" => "Yes", "comment_author" => "A",'
        ' "comment_author_email" => "a@example.com"];'
        ' $id = wp_insert_comment($c + ["comment_approved" => 0]); wp_set_comment_status($id, "approve");',
        ["/first/"],
        ["/about/", "/author/second/"],
    ),
    "a user with another name": (
        'wp_update_user(["ID" => get_user_by("login", "second")->ID, "display_name" => "Somebody"]);',
        ["/", "/author/second/"],
        ["/about/"],
    ),
    "the title of the site": ('update_option("blogname", "Other");', list(PAGES), []),
    "other permalinks": ('update_option("category_base", "kind"); update_option("category_base", "");', list(PAGES), []),
    "a menu": ('wp_create_nav_menu("Main");', list(PAGES), []),
    "a widget": ('update_option("widget_text", ["_multiwidget" => 1, 5 => ["text" => "x"]]);', list(PAGES), []),
    "a template": (
        'wp_insert_post(["post_type" => "wp_template", "post_title" => "T", "post_name" => "x", "post_status" => "publish"]);',
        list(PAGES),
        [],
    ),
    "another setting of the theme": ('set_theme_mod("colour", "green");', list(PAGES), []),
    "an activated plugin": (
        'require_once ABSPATH . "wp-admin/includes/plugin.php"; activate_plugin("hello.php");',
        list(PAGES),
        [],
    ),
    "another theme": ('$all = array_keys(wp_get_themes()); switch_theme(end($all));', list(PAGES), []),
    "many posts at once": (
        'for ($i = 0; $i < 60; $i++) wp_update_post(["ID" => {first}, "post_title" => "T$i"])'
        ' + wp_insert_post(["post_title" => "N$i", "post_status" => "publish"]);',
        list(PAGES),
        [],
    ),
}  # fmt: skip
KEEPS = {
    "a draft": 'wp_insert_post(["post_title" => "Draft", "post_status" => "draft"]);',
    "an edited draft": 'wp_update_post(["ID" => {second}, "post_content" => "x"]);',
    "an open editor": 'update_post_meta({first}, "_edit_lock", time() . ":1"); wp_save_post_revision({first});',
    "a visit that a plugin counts": 'update_post_meta({first}, "views", rand());',
    "a temporary value": 'set_transient("x", rand()); update_option("unrelated", rand());',
    "a comment in moderation": (
        'wp_insert_comment(["comment_post_ID" => {about}, "comment_content" => "Spam?", "comment_approved" => 0]);'
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_pages_that_show_a_change_are_fetched_again_and_others_are_kept(site: Site, change: str):
    code, changed, kept = CHANGES[change]
    await warm(site, *changed, *kept)
    await run(site, code)
    for path in changed:
        await becomes_uncached(site, path)
    for path in kept:
        assert await is_cached(site, path), path


async def test_what_visitors_do_not_see_purges_nothing(site: Site, monkeypatch: pytest.MonkeyPatch):
    await warm(site, *PAGES)
    purged: list[object] = []
    add = PurgeQueue.add

    def record(queue: PurgeQueue, environment: str, tags: Collection[str] | None) -> asyncio.Event:
        purged.append(tags)
        return add(queue, environment, tags)

    monkeypatch.setattr(PurgeQueue, "add", record)
    for code in KEEPS.values():
        await run(site, code)
    # The node has read everything that came before this.
    await run(site, SAY % """'{"purge": ["unrelated"]}'""")
    assert purged == [("unrelated",)]
    assert [path for path in PAGES if not await is_cached(site, path)] == []


async def test_a_site_can_purge_only_itself_and_its_messages_are_bounded(node: WordPressNode, site: Site):
    other = await node.create()
    await node.announce(other, cache_ttl=3600)
    await warm(other, "/?calm=1")
    await warm(site, "/about/")
    hostile = [
        '\'{"purge_all": true, "environment": "OTHER", "site": "OTHER"}\''.replace(
            "OTHER", other.environment
        ),
        """'{"purge": ["post-1\\\\nx"]}'""",
        '\'{"purge": ["\' . str_repeat("x", 101) . \'"]}\'',
        'json_encode(["purge" => array_fill(0, 300, "a")])',
        '\'{"cron": {"next": "soon"}}\'',
        "'[1, 2'",
        'str_repeat("x", 100000)',
        "'null'",
    ]
    answers = [(await run(site, SAY % message)).strip() for message in hostile]
    assert answers[0] == "{}"
    assert all(answer in ("", '{"error":"the message cannot be read"}') for answer in answers[1:]), answers
    await becomes_uncached(site, "/about/")
    assert await is_cached(other, "/?calm=1")
    await run(
        site,
        "for ($i = 0; $i < 7; $i++) { " + SAY % "'{\"purge_all\": true}'" + " fclose($s); }",
    )
    assert await is_cached(other, "/?calm=1")
    await node.remove(other)


async def test_a_request_does_not_wait_for_a_node_that_does_not_listen(site: Site):
    """The edit is saved although nobody is told about it. The next agent purges all pages of the site."""
    await warm(site, "/about/")
    await site.node.stop_agent()
    began = time.monotonic()
    printed = await run(
        site, 'wp_update_post(["ID" => {about}, "post_content" => "Nobody listens"]); echo "saved";'
    )
    assert printed == "saved"
    assert time.monotonic() - began < 20 * slowdown()
    assert await is_cached(site, "/about/")
    await site.node.start_agent()
    await becomes_uncached(site, "/about/")
    assert "Nobody listens" in (await site.get("/about/")).text


async def test_the_plugin_cannot_be_removed_or_changed(site: Site):
    printed = await run(
        site,
        'foreach (["plugin", "tags", "changes", "schedule"] as $name) { $file = "/run/stead/platform/$name.php";'
        ' if (@unlink($file) || @file_put_contents($file, "x") || !is_readable($file)) echo $name; }'
        ' if (!function_exists("Stead\\\\load")) echo "not loaded";',
    )
    assert printed == ""


async def test_purges_of_a_site_are_collected_and_a_failing_edge_loses_none(tmp_path: Path):
    """Without nginx, to count the requests."""
    requests: list[list[str]] = []
    fails = True

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            except EOFError:
                writer.close()
                return
            size = int(head.partition("content-length: ")[2].partition("\r")[0])
            requests.append((await reader.readexactly(size)).decode().splitlines())
            if fails:
                queue.add("env_a", {"meanwhile"})
            status = "500 Failed" if fails else "200 OK"
            body = b'{"instance":"x","revision":1,"refused":0}'
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    server = await asyncio.start_unix_server(serve, tmp_path / "admin.sock")
    queue = PurgeQueue(tmp_path / "admin.sock")
    running = asyncio.create_task(queue.run())
    first = queue.add("env_a", {"one"})

    async def was_tried() -> bool | None:
        return bool(requests) or None

    await until(was_tried)
    for number in range(MAX_TAGS * 3):
        last = queue.add("env_a", {f"tag-{number}"})
    other = queue.add("env_b", {"two"})
    fails = False
    async with time_limit(20):
        await last.wait()
        await other.wait()
    assert len(requests) <= 4
    assert requests[-1] == ['{"environment":"env_a"}', '{"environment":"env_b","tags":["two"]}']
    running.cancel()
    await asyncio.wait({running})
    server.close()
    assert first.is_set()
