"""Static sites: the right file with the right headers, and an error page where there is none."""

import gzip

import pytest

from tests.edge.edge_harness import EdgeHarness

FILES: dict[str, str | bytes] = {
    "index.html": "<h1>home</h1>",
    "about.html": "<h1>about</h1>",
    "docs/index.html": "<h1>docs</h1>",
    "404.html": "<h1>own 404</h1>",
    "style.css": "body{}" * 400,
    "data.json": "{}",
    "app.wasm": b"\0asm",
    "icon.svg": "<svg/>",
    "app.js": "1;" * 2000,
    "app.js.gz": gzip.compress(b"precompressed"),
    "app.js.br": b"brotli, says the name",
    ".secret": "hidden",
    "deep/.git/config": "hidden",
    ".well-known/security.txt": "Contact: mailto:a@example.com",
    "ü/page.html": "umlaut",
    "percent%41.html": "percent",
}


@pytest.fixture(scope="module")
async def site(edge: EdgeHarness) -> str:
    return await edge.site("static.test", "static", FILES)


@pytest.mark.parametrize(
    ("path", "status", "kind", "body"),
    [
        ("/", 200, "text/html; charset=utf-8", "home"),
        ("/index.html", 200, "text/html; charset=utf-8", "home"),
        ("/about", 200, "text/html; charset=utf-8", "about"),
        ("/about.html", 200, "text/html; charset=utf-8", "about"),
        ("/docs/", 200, "text/html; charset=utf-8", "docs"),
        ("/style.css", 200, "text/css; charset=utf-8", "body{}"),
        ("/data.json", 200, "application/json; charset=utf-8", "{}"),
        ("/app.wasm", 200, "application/wasm", ""),
        ("/icon.svg", 200, "image/svg+xml; charset=utf-8", "<svg/>"),
        ("/.well-known/security.txt", 200, "text/plain; charset=utf-8", "Contact"),
        ("/%C3%BC/page", 200, "text/html; charset=utf-8", "umlaut"),
        ("/percent%2541", 200, "text/html; charset=utf-8", "percent"),
        ("/nothing", 404, "text/html; charset=utf-8", "own 404"),
        ("/nothing/", 404, "text/html; charset=utf-8", "own 404"),
        ("/.secret", 404, "text/html; charset=utf-8", "own 404"),
        ("/deep/.git/config", 404, "text/html; charset=utf-8", "own 404"),
        ("/.well-known/.x", 404, "text/html; charset=utf-8", "own 404"),
    ],
)
async def test_a_path_is_served_by_its_file(
    edge: EdgeHarness, site: str, path: str, status: int, kind: str, body: str
) -> None:
    answer = await edge.get(site, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)
    assert body in answer.text


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/docs", "/docs/"),
        ("/docs?a=1", "/docs/?a=1"),
        ("/about/", "/about"),
        ("/about/?b=2", "/about?b=2"),
        ("/%C3%BC/page/", "/%C3%BC/page"),
        ("//docs", "/docs/"),
    ],
)
async def test_a_page_has_one_canonical_address(
    edge: EdgeHarness, site: str, path: str, location: str
) -> None:
    answer = await edge.get(site, path)
    assert (answer.status_code, answer.headers["location"]) == (301, location)


async def test_a_redirect_to_the_canonical_address_is_not_remembered_beyond_its_release(
    edge: EdgeHarness,
) -> None:
    """A browser that remembers a redirect in either direction would follow both in a circle."""
    cases: list[tuple[dict[str, str | bytes], str]] = [
        ({"page.html": "a file"}, "/page/"),
        ({"page/index.html": "a folder"}, "/page"),
    ]
    for files, path in cases:
        host = await edge.site("turning.test", "turning", files, release=f"rel-turning-{len(path)}")
        redirect = await edge.get(host, path)
        assert redirect.status_code == 301
        assert redirect.headers.get_list("cache-control") == ["public, max-age=0, must-revalidate"]
        assert (await edge.get(host, redirect.headers["location"])).status_code == 200


async def test_an_unchanged_page_is_not_sent_again(edge: EdgeHarness, site: str) -> None:
    first = await edge.get(site, "/")
    for header, value in (
        ("if-none-match", first.headers["etag"]),
        ("if-modified-since", first.headers["last-modified"]),
    ):
        assert (await edge.get(site, "/", headers={header: value})).status_code == 304


async def test_a_range_of_a_file_can_be_requested(edge: EdgeHarness, site: str) -> None:
    plain = {"accept-encoding": "identity"}
    answer = await edge.get(site, "/style.css", headers=plain | {"range": "bytes=0-3"})
    assert (answer.status_code, answer.text) == (206, "body")
    beyond = await edge.get(site, "/style.css", headers=plain | {"range": "bytes=99999-"})
    assert beyond.status_code == 416


async def test_files_are_compressed_for_clients_that_accept_it(edge: EdgeHarness, site: str) -> None:
    assert (await edge.get(site, "/app.js", headers={"accept-encoding": "gzip"})).text == "precompressed"
    raw = await edge.raw(
        b"GET /app.js HTTP/1.1\r\nHost: static.test\r\nAccept-Encoding: br\r\nConnection: close\r\n\r\n"
    )
    assert b"Content-Encoding: br" in raw
    flying = await edge.get(site, "/style.css", headers={"accept-encoding": "gzip"})
    assert flying.headers["content-encoding"] == "gzip"
    assert flying.text == FILES["style.css"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_files_can_only_be_read(edge: EdgeHarness, site: str, method: str) -> None:
    answer = await edge.get(site, "/", method=method)
    assert answer.status_code == 405
    assert answer.headers["x-stead-reason"] == "method"


async def test_head_returns_the_length_and_no_body(edge: EdgeHarness, site: str) -> None:
    answer = await edge.get(site, "/", method="HEAD")
    assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, "13", b"")


async def test_responses_have_security_headers(edge: EdgeHarness, site: str) -> None:
    headers = (await edge.get(site, "/")).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "x-frame-options" not in headers
    assert headers["referrer-policy"] == "strict-origin-when-cross-origin"
    assert headers["cache-control"] == "public, max-age=0, must-revalidate"
    assert "server" not in headers or "/" not in headers["server"]


async def test_a_site_without_an_error_page_gets_the_default_one(edge: EdgeHarness) -> None:
    await edge.site("bare.test", "bare", {"index.html": "x"})
    answer = await edge.get("bare.test", "/nothing")
    assert (answer.status_code, answer.headers["x-stead-reason"]) == (404, "not_found")
    assert "Page not found" in answer.text


async def test_a_missing_release_is_reported(edge: EdgeHarness) -> None:
    await edge.site("late.test", "late", None, release="rel-late")
    answer = await edge.get("late.test")
    assert (answer.status_code, answer.headers["x-stead-reason"].split(";")[0]) == (503, "unreleased")


async def test_a_link_in_a_release_is_not_followed(edge: EdgeHarness) -> None:
    await edge.site("links.test", "links", {"index.html": "x"})
    (edge.data / "releases" / "rel-links" / "out.txt").symlink_to("/etc/passwd")
    (edge.data / "releases" / "rel-links" / "dir").symlink_to("/etc")
    for path in ("/out.txt", "/dir/passwd"):
        answer = await edge.get("links.test", path)
        assert answer.status_code in {403, 404}
        assert "root:" not in answer.text


async def test_a_new_release_is_served_from_the_next_request_on(edge: EdgeHarness) -> None:
    await edge.site("switch.test", "switch", {"index.html": "one"})
    assert (await edge.get("switch.test")).text == "one"
    await edge.environment("switch", release=edge.release("rel-two", {"index.html": "two"}))
    assert (await edge.get("switch.test")).text == "two"
