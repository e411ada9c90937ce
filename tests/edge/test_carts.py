"""A shop with two customers: in ten thousand mixed requests none of them sees the page of the other, and
nobody else sees a page of either.

The application is careless: it marks none of its pages as private, except where it sets a cookie.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from stead.dev.supervised_program import LOOPBACK
from stead.protocol.edge_records import PurgeRecord
from tests.conftest import FIGURE
from tests.edge.edge_harness import EdgeHarness
from tests.edge.fastcgi import Reply, Request

REQUESTS, CONNECTIONS = 10_000, 16
PURGE_EVERY = 1_000
PAGES = ("/", "/shop/", "/product/mug/", "/cart/", "/checkout/", "/warenkorb/", "/product/cup/?color=red")
NOBODY = "nobody"


@dataclass(frozen=True)
class Visitor:
    name: str
    cookie: str = ""


CUSTOMERS = (
    Visitor("anna", "wp_woocommerce_session_1=anna; woocommerce_items_in_cart=1; _ga=1"),
    Visitor("ben", "_ga=2; woocommerce_cart_hash=b; wp_woocommerce_session_1=ben"),
)
OTHERS = (
    Visitor(NOBODY),
    Visitor(NOBODY, "_ga=3; sbjs_first=x"),
    Visitor("editor", "wordpress_logged_in_1=editor"),
)
MIX = (*CUSTOMERS * 2, *OTHERS, Visitor(NOBODY), Visitor(NOBODY))


def owner_of(request: Request) -> str:
    """Who the application thinks is there."""
    cookies = dict(
        each.strip().partition("=")[::2] for each in request.params.get("HTTP_COOKIE", "").split(";")
    )
    return cookies.get("wp_woocommerce_session_1") or cookies.get("wordpress_logged_in_1") or NOBODY


async def careless_shop(request: Request) -> Reply:
    owner = owner_of(request)
    # A visitor without a session gets one with the first product.
    starts = "add-to-cart" in request.uri and owner == NOBODY
    headers = (("Set-Cookie", "wp_woocommerce_session_1=new"),) if starts else ()
    return Reply(f"<cart of {owner}>".encode(), headers=headers)


def next_request(chance: random.Random) -> tuple[Visitor, str, str]:
    visitor, path = chance.choice(MIX), chance.choice(PAGES)
    extra = chance.choice(("", "", "", "utm_source=x", "add-to-cart=7", "wc-ajax=get_refreshed_fragments"))
    if extra:
        path += ("&" if "?" in path else "?") + extra
    return visitor, chance.choice(("GET", "GET", "GET", "GET", "POST")), path


def encode(visitor: Visitor, method: str, path: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: shop.test"]
    if visitor.cookie:
        lines.append(f"Cookie: {visitor.cookie}")
    if method == "POST":
        lines.append("Content-Length: 0")
    return "\r\n".join([*lines, "", ""]).encode()


async def read_answer(reader: asyncio.StreamReader) -> tuple[str, str]:
    """The body, and what `X-Cache` says."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    assert head.startswith("http/1.1 200"), head
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    return body.decode(), headers["x-cache"]


async def test_two_customers_never_see_each_others_cart(
    edge: EdgeHarness, record_property: Callable[[str, object], None]
) -> None:
    shop = await edge.application("shop")
    shop.handler = careless_shop
    await edge.site("shop.test", "shop", None, runtime="cms", waf="off", cache_ttl=600)
    turns, outcomes = itertools.count(), Counter[str]()

    async def visit(number: int) -> None:
        chance = random.Random(number)  # noqa: S311
        # Each connection comes from another address, because the requests of one address are limited.
        reader, writer = await asyncio.open_connection(
            LOOPBACK, edge.port, local_addr=(f"127.0.1.{number + 1}", 0)
        )
        while (turn := next(turns)) < REQUESTS:
            visitor, method, path = next_request(chance)
            writer.write(encode(visitor, method, path))
            body, cache = await read_answer(reader)
            assert body == f"<cart of {visitor.name}>", (visitor, method, path, cache)
            outcomes[f"{'customer' if visitor in CUSTOMERS else 'other'} {cache}"] += 1
            if turn % PURGE_EVERY == 0:
                await purge(edge)
        writer.close()

    async with asyncio.TaskGroup() as tasks:
        for number in range(CONNECTIONS):
            tasks.create_task(visit(number))
    assert sum(outcomes.values()) == REQUESTS
    assert {each for each in outcomes if each.startswith("customer")} == {"customer bypass"}
    assert outcomes["other hit"] > REQUESTS / 10
    record_property(FIGURE, f"{REQUESTS} requests of a shop, none with another's cart: {dict(outcomes)}")


async def purge(edge: EdgeHarness) -> None:
    await edge.tell("purge", "env_shop.all", PurgeRecord("env_shop"))
