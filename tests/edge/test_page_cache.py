"""The page cache: pages are shared only if they may be, and not for longer than they may be."""

import asyncio
import itertools

import httpx
import pytest

from stead.edge.admin import AdminFailed, NodePurge
from stead.protocol.edge_records import PurgeRecord, purge_key
from tests.edge.edge_harness import EdgeHarness, start_edge
from tests.edge.fastcgi import Application, Reply, Request
from tests.patience import time_limit

REGION = "here"
NUMBERS = itertools.count(1)


class Counting:
    """A different response each time, so that a cached page is recognized."""

    def __init__(self) -> None:
        self.headers: tuple[tuple[str, str], ...] = ()
        self.status = 200
        self.pause: asyncio.Event | None = None

    async def __call__(self, request: Request) -> Reply:
        number = next(NUMBERS)
        if self.pause is not None:
            await self.pause.wait()
        cookie = request.params.get("HTTP_COOKIE", "")
        body = f"{number} {request.params['HTTP_HOST']} {request.uri} [{cookie}]"
        return Reply(body.encode(), self.status, self.headers)


@pytest.fixture(scope="module")
async def app(edge: EdgeHarness) -> Application:
    made = await edge.application("cached")
    await edge.site("cached.test", "cached", None, runtime="cms", waf="off", cache_ttl=600)
    await edge.tell("host", "twin.test", {"environment": "env_cached"})
    return made


@pytest.fixture
def page(app: Application) -> Counting:
    app.handler = made = Counting()
    return made


async def fetch(edge: EdgeHarness, path: str, host: str = "cached.test", **headers: str) -> tuple[str, str]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await edge.get(host, path, headers=given)
    return answer.text, answer.headers["x-cache"]


async def purge(edge: EdgeHarness, what: PurgeRecord) -> None:
    name = purge_key(REGION, what).removeprefix(f"{REGION}.purge.")
    await edge.tell("purge", name, what)


async def test_the_second_visitor_gets_the_cached_page(edge: EdgeHarness, page: Counting) -> None:
    first, how = await fetch(edge, "/second")
    assert how == "MISS"
    assert await fetch(edge, "/second") == (first, "HIT")
    assert (await edge.get("cached.test", "/second", method="HEAD")).headers["x-cache"] == "HIT"
    assert (await edge.ledgered("/second"))["cache"] in {"MISS", "HIT"}


async def test_hosts_of_one_environment_do_not_share_pages(edge: EdgeHarness, page: Counting) -> None:
    one, _ = await fetch(edge, "/hosts")
    two, how = await fetch(edge, "/hosts", "twin.test")
    assert how == "MISS"
    assert ("cached.test" in one, "twin.test" in two) == (True, True)


async def test_the_order_of_a_query_and_tracking_parameters_do_not_matter(
    edge: EdgeHarness, page: Counting
) -> None:
    first, _ = await fetch(edge, "/query?b=2&a=1&utm_source=<mail>&fbclid=x")
    assert "/query?a=1&b=2 " in first
    for same in ("/query?a=1&b=2", "/query?utm_campaign=z&a=1&UTM_medium=q&b=2&gclid=1"):
        assert await fetch(edge, same) == (first, "HIT")
    for other in ("/query?a=2&b=1", "/query?a=1", "/query?A=1&b=2", "/query"):
        assert (await fetch(edge, other))[1] == "MISS"


@pytest.mark.parametrize(
    "headers",
    [
        {"cookie": "wordpress_logged_in_9a8b7c=admin"},
        {"cookie": "_ga=1; wp-postpass_abc=x"},
        {"cookie": "comment_author_abc=me"},
        {"cookie": "PHPSESSID=1"},
        {"cookie": "_ga=1;woocommerce_items_in_cart=1"},
        {"cookie": "anything=else"},
        {"cookie": "_gat; sid"},
        {"authorization": "Basic eDp5"},
        {"origin": "https://elsewhere.example"},
        {"x_wp_nonce": "abc"},
    ],
)
async def test_requests_with_personal_headers_bypass_the_cache(
    edge: EdgeHarness, page: Counting, headers: dict[str, str]
) -> None:
    first, _ = await fetch(edge, "/personal")
    own, how = await fetch(edge, "/personal", **headers)
    assert how == "BYPASS"
    assert own != first
    if "cookie" in headers:
        assert headers["cookie"] in own
    assert await fetch(edge, "/personal") == (first, "HIT")


async def test_cookies_of_browser_scripts_do_not_reach_the_origin(edge: EdgeHarness, page: Counting) -> None:
    first, how = await fetch(edge, "/harmless", cookie="_ga=GA1.2; _fbp=1; __utmz=2; _gcl_au=3")
    assert (how, first.endswith("[]")) == ("MISS", True)
    assert await fetch(edge, "/harmless", cookie="_gid=other") == (first, "HIT")


@pytest.mark.parametrize(
    ("number", "header", "value"),
    [
        (1, "Set-Cookie", "session=secret"),
        (2, "Cache-Control", "private"),
        (3, "Cache-Control", "max-age=60, No-Store"),
        (4, "Cache-Control", "no-cache"),
        (5, "Vary", "Cookie"),
        (6, "Vary", "Accept-Encoding, User-Agent"),
        (7, "Vary", "*"),
        (8, "Cache-Control", "max-age=0"),
    ],
)
async def test_private_responses_are_not_cached(
    edge: EdgeHarness, page: Counting, number: int, header: str, value: str
) -> None:
    page.headers = ((header, value),)
    seen = {(await fetch(edge, f"/forbidden{number}"))[0] for _ in range(3)}
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("code", "kept"), [(200, True), (301, True), (404, True), (302, False), (500, False)]
)
async def test_only_responses_with_certain_statuses_are_cached(
    edge: EdgeHarness, page: Counting, code: int, kept: bool
) -> None:
    page.status = code
    page.headers = (("Location", "/x"),) if code in {301, 302} else ()
    first, _ = await fetch(edge, f"/code{code}")
    second, _ = await fetch(edge, f"/code{code}")
    assert (first == second) is kept


async def test_a_response_that_varies_by_encoding_is_cached_once(edge: EdgeHarness, page: Counting) -> None:
    page.headers = (("Vary", "Accept-Encoding"),)
    first, _ = await fetch(edge, "/encoding", accept_encoding="gzip")
    assert await fetch(edge, "/encoding", accept_encoding="identity") == (first, "HIT")


async def test_a_page_is_not_cached_for_longer_than_allowed(edge: EdgeHarness, page: Counting) -> None:
    page.headers = (("Cache-Control", "max-age=1"),)
    first, _ = await fetch(edge, "/short")
    assert await fetch(edge, "/short") == (first, "HIT")
    await asyncio.sleep(2.1)
    assert (await fetch(edge, "/short"))[0] != first


async def test_without_a_time_to_live_nothing_is_cached(
    edge: EdgeHarness, app: Application, page: Counting
) -> None:
    await edge.environment("cached", runtime="cms", waf="off", cache_ttl=0)
    try:
        assert [(await fetch(edge, "/off"))[1] for _ in range(2)] == ["BYPASS", "BYPASS"]
    finally:
        await edge.environment("cached", runtime="cms", waf="off", cache_ttl=600)


@pytest.mark.parametrize(
    "headers",
    [
        {"x_forwarded_host": "evil.example"},
        {"x_forwarded_scheme": "http"},
        {"x_original_url": "/admin"},
        {"x_rewrite_url": "/admin"},
        {"forwarded": "host=evil.example"},
        {"x_host": "evil.example"},
        {"x_http_method_override": "DELETE"},
        {"x_custom": "evil"},
        {"range": "bytes=0-1"},
        {"if_none_match": '"x"'},
    ],
)
async def test_a_header_that_is_not_in_the_key_does_not_reach_the_origin(
    edge: EdgeHarness, app: Application, headers: dict[str, str]
) -> None:
    app.handler = Counting()
    path = "/unkeyed-" + next(iter(headers))
    await fetch(edge, path, **headers)
    told = app.seen[-1]
    assert told.uri == path
    for name in headers:
        assert f"HTTP_{name.upper()}" not in told.params or told.params[f"HTTP_{name.upper()}"] == ""


async def test_a_purge_removes_everything_a_url_or_a_tag(edge: EdgeHarness, page: Counting) -> None:
    page.headers = (("Cache-Tag", "post-1, list"),)
    tagged, _ = await fetch(edge, "/tagged?x=1")
    page.headers = ()
    plain, _ = await fetch(edge, "/plain?b=1&a=2")
    await purge(edge, PurgeRecord("env_cached", tag="post-2"))
    await purge(edge, PurgeRecord("env_other"))
    assert await fetch(edge, "/tagged?x=1") == (tagged, "HIT")
    await purge(edge, PurgeRecord("env_cached", tag="post-1"))
    again, how = await fetch(edge, "/tagged?x=1")
    assert (how, again != tagged) == ("MISS", True)
    assert await fetch(edge, "/plain?a=2&b=1") == (plain, "HIT")
    await purge(edge, PurgeRecord("env_cached", url="/plain?a=2&b=1&utm_x=1"))
    assert (await fetch(edge, "/plain?b=1&a=2"))[1] == "MISS"
    kept, how = await fetch(edge, "/tagged?x=1")
    assert (how, kept) == ("HIT", again)
    await purge(edge, PurgeRecord("env_cached"))
    assert (await fetch(edge, "/tagged?x=1"))[1] == "MISS"
    assert "cache-tag" not in (await edge.get("cached.test", "/tagged?x=1")).headers


async def test_the_node_purges_by_tag_or_everything_between_purges_of_the_feed(
    edge: EdgeHarness, page: Counting
) -> None:
    page.headers = (("Cache-Tag", "post-7 list"),)
    purges = [
        edge.admin.purge([NodePurge("env_other"), NodePurge("env_cached", ("post-6", "post-7"))]),
        edge.admin.purge([NodePurge("env_cached", ("list",))]),
        purge(edge, PurgeRecord("env_cached", tag="list")),
        edge.admin.purge([NodePurge("env_cached", ("list",))]),
        purge(edge, PurgeRecord("env_cached")),
        edge.admin.purge([NodePurge("env_cached")]),
        purge(edge, PurgeRecord("env_cached", url="/by-node")),
        edge.admin.purge([NodePurge("env_cached", tuple(f"tag-{n}" for n in range(300)))]),
    ]
    for purging in purges:
        before, _ = await fetch(edge, "/by-node")
        await edge.admin.purge([NodePurge("env_cached", ("unrelated",)), NodePurge("env_cached", ())])
        assert await fetch(edge, "/by-node") == (before, "HIT")
        await purging
        assert (await fetch(edge, "/by-node"))[1] == "MISS"
    with pytest.raises(AdminFailed, match="malformed"):
        await edge.admin._request("POST", "/purge", b'{"tags": []}')


async def test_purges_of_the_node_never_overtake_those_of_the_feed(edge: EdgeHarness, page: Counting) -> None:
    """However many there are."""
    await edge.admin.purge(NodePurge("env_cached", ("many",)) for _ in range(5000))
    page.headers = (("Cache-Tag", "many"),)
    before, _ = await fetch(edge, "/overtaken")
    assert await fetch(edge, "/overtaken") == (before, "HIT")
    await purge(edge, PurgeRecord("env_cached", tag="many"))
    assert (await fetch(edge, "/overtaken"))[1] == "MISS"


async def test_a_page_with_very_many_tags_is_not_cached(edge: EdgeHarness, page: Counting) -> None:
    page.headers = (("Cache-Tag", " ".join(f"post-{n}" for n in range(1200))),)
    await fetch(edge, "/tags")
    assert (await fetch(edge, "/tags"))[1] == "BYPASS"


@pytest.mark.parametrize("kind", ["all", "url", "tag"])
async def test_a_page_that_is_purged_while_it_is_fetched_is_not_cached(
    edge: EdgeHarness, page: Counting, kind: str
) -> None:
    what = {
        "all": PurgeRecord("env_cached"),
        "url": PurgeRecord("env_cached", url=f"/flight-{kind}"),
        "tag": PurgeRecord("env_cached", tag="flying"),
    }[kind]
    page.headers = (("Cache-Tag", "flying"),)
    for _ in range(5):
        page.pause = asyncio.Event()
        before = len(edge.applications["cached"].seen)
        flight = asyncio.create_task(fetch(edge, f"/flight-{kind}"))
        await edge.applications["cached"].asked(before + 1)
        await purge(edge, what)
        page.pause.set()
        old, _ = await flight
        page.pause = None
        new, _ = await fetch(edge, f"/flight-{kind}")
        assert new != old
        assert await fetch(edge, f"/flight-{kind}") == (new, "HIT")
        await purge(edge, what)


async def test_concurrent_visitors_cause_one_fetch(
    edge: EdgeHarness, app: Application, page: Counting
) -> None:
    page.pause = asyncio.Event()
    before = len(app.seen)
    visits = [asyncio.create_task(fetch(edge, "/crowd")) for _ in range(20)]
    await app.asked(before + 1)
    await edge.tell("challenge", "unrelated", {"host": "x", "answer": "y"})
    visits += [asyncio.create_task(fetch(edge, "/crowd")) for _ in range(5)]
    await asyncio.sleep(0.2)
    page.pause.set()
    assert len({body for body, _ in await asyncio.gather(*visits)}) == 1
    assert len(app.seen) == before + 1


async def test_visitors_of_an_uncacheable_page_do_not_wait_for_each_other(
    edge: EdgeHarness, page: Counting
) -> None:
    page.headers = (("Cache-Control", "private"),)
    await fetch(edge, "/private-crowd")
    page.pause = asyncio.Event()
    visits = [asyncio.create_task(fetch(edge, "/private-crowd")) for _ in range(10)]
    seen = edge.applications["cached"].seen
    async with time_limit(4):
        while len([each for each in seen if each.uri == "/private-crowd"]) < 11:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    arrived = len([each for each in seen if each.uri == "/private-crowd"])
    page.pause.set()
    assert len({body for body, _ in await asyncio.gather(*visits)}) == 10
    assert arrived == 11


async def test_no_visitor_gets_the_page_of_another(edge: EdgeHarness, app: Application) -> None:
    async def personal(request: Request) -> Reply:
        who = request.params.get("HTTP_COOKIE") or "nobody"
        return Reply(f"{who} {request.uri}".encode())

    app.handler = personal

    async def visit(number: int) -> None:
        path = f"/mixed{number % 7}"
        cookie = f"wordpress_logged_in_{number % 5}=user{number}" if number % 3 else ""
        body, _ = await fetch(edge, path, **({"cookie": cookie} if cookie else {}))
        assert body == f"{cookie or 'nobody'} {path}"

    for start in range(0, 200, 20):
        await asyncio.gather(*map(visit, range(start, start + 20)))


async def test_pages_of_one_site_do_not_push_out_those_of_others() -> None:
    """Requests for ever new paths fill neither the disk nor the shared memory."""
    limits = {"STEAD_EDGE_ADDRESS_RATE": "100000", "STEAD_EDGE_ADDRESS_AT_ONCE": "1000"}
    async with start_edge(STEAD_EDGE_MEMORY_PAGES="1", STEAD_EDGE_CACHE="8", **limits) as edge:
        for name in ("quiet", "many", "large"):
            await edge.application(name)
            await edge.site(f"{name}.test", name, None, runtime="cms", waf="off", cache_ttl=600)

        async def respond(_: Request) -> Reply:
            return Reply(b"x" * 100_000)

        edge.applications["large"].handler = respond
        kept, how = await fetch(edge, "/kept", "quiet.test")
        assert how == "MISS"
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{edge.port}") as visitor:
            for host, count in (("large.test", 120), ("many.test", 300)):
                for number in range(count):
                    await visitor.get(f"/{'x' * 1000}{number}", headers={"host": host})
        for host, count in (("large.test", 120), ("many.test", 300)):
            # The first pages of the site are in the cache, and later ones are served without it.
            assert (await fetch(edge, f"/{'x' * 1000}1", host))[1] == "HIT"
            assert (await fetch(edge, f"/{'x' * 1000}{count - 1}", host))[1] == "BYPASS"
        assert await fetch(edge, "/kept", "quiet.test") == (kept, "HIT")
        assert sum(path.stat().st_size for path in (edge.run / "pages").rglob("*")) < 3 << 20


async def test_pages_from_before_a_restart_are_not_served() -> None:
    async with start_edge() as fresh:
        app = await fresh.application("cached")
        app.handler = Counting()
        await fresh.site("cached.test", "cached", None, runtime="cms", waf="off", cache_ttl=600)
        first, _ = await fetch(fresh, "/")
        assert await fetch(fresh, "/") == (first, "HIT")
        await fresh.stop()
        await fresh.start()
        await fresh.site("cached.test", "cached", None, runtime="cms", waf="off", cache_ttl=600)
        second, how = await fetch(fresh, "/")
        assert (how, second != first) == ("MISS", True)
