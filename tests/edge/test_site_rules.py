"""Static sites with rule files, served by nginx: a table of requests, and what hostile files cannot do."""

import gzip

import brotli
import pytest

from stead.artifacts.precompression import add_compressed_files
from stead.artifacts.site_rules.compiler import compile_headers
from stead.artifacts.site_rules.headers import parse_headers
from stead.protocol.edge_records import EdgeRedirect, FunctionRoute, RedirectSet, RedirectsRecord
from tests.edge.edge_harness import EdgeHarness
from tests.edge.release_rules import install_rules
from tests.edge.site_rule_rows import REVALIDATE, TREES, Files, Row, Tree

ORIGIN = "https://a.example"
ROWS = [(tree, row) for tree in TREES for row in tree.rows]


async def serve(edge: EdgeHarness, name: str, files: Files, **fields: object) -> list[str]:
    release = edge.release(f"rel-{name}", files)
    warnings = install_rules(edge, release)
    await edge.site(f"{name}.test", name, {}, release=release, **fields)
    return warnings


@pytest.fixture(scope="module")
async def trees(edge: EdgeHarness) -> dict[str, list[str]]:
    return {tree.name: await serve(edge, tree.name, tree.files) for tree in TREES}


def test_the_table_is_large_enough():
    print(f"\nrows of the serving table: {len(ROWS)}")  # noqa: T201
    assert len(ROWS) >= 120


@pytest.mark.parametrize(
    ("tree", "row"),
    ROWS,
    ids=[f"{tree.name} {row.method} {row.path} {at}" for at, (tree, row) in enumerate(ROWS)],
)
async def test_a_request_is_answered_as_the_table_says(
    edge: EdgeHarness, trees: dict[str, list[str]], tree: Tree, row: Row
) -> None:
    assert tree.name in trees
    answer = await edge.get(f"{tree.name}.test", row.path, method=row.method, headers=row.sent)
    shown = {name: answer.headers.get(name) for name in row.headers}
    assert (answer.status_code, shown) == (row.status, row.headers), answer.text[:200]
    for name, value in row.headers.items():
        assert value is None or len(answer.headers.get_list(name)) == 1
    if row.body is not None:
        assert answer.text == row.body


def test_what_cannot_be_used_is_a_warning_with_its_line(trees: dict[str, list[str]]):
    warnings = "\n".join(trees["redirects"])
    assert "_redirects line 32: the condition Country=us is not supported; the rule is ignored" in warnings
    assert "_redirects line 37: it has no destination" in warnings
    assert any("at most" not in line and "418" in line for line in trees["redirects"])
    forbidden = "\n".join(trees["headers"])
    for name in (
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Set-Cookie",
        "X-Accel-Redirect",
        "Server",
    ):
        assert f"{name}" in forbidden
    assert "stead.json: it is not valid JSON, so its rules are ignored" in trees["broken"]
    assert not trees["plain"]


async def test_redirects_of_the_api_come_before_the_rules_of_the_files(edge: EdgeHarness):
    files: Files = {
        "index.html": "home",
        "page.html": "page",
        "_redirects": "/page /from-file 301!\n/x /from-file",
    }
    record = RedirectsRecord(
        "v1", (EdgeRedirect("/page", "/from-api", 302), EdgeRedirect("/x", "/from-api", 302))
    )
    await edge.tell("redirects", "site_ordered.0", record)
    await serve(edge, "ordered", files, redirects=RedirectSet("v1"))
    for path in ("/page", "/x"):
        answer = await edge.get("ordered.test", path)
        assert (answer.status_code, answer.headers["location"]) == (302, "/from-api")


async def test_headers_of_the_settings_come_after_those_of_the_files(edge: EdgeHarness):
    """The rows are the same with and without files, except for what the files say."""
    settings = [
        parse_headers("/*", {"X-Frame-Options": "DENY", "X-Both": "settings"}),
        parse_headers("/open/*", {"Access-Control-Allow-Origin": ORIGIN, "X-Frame-Options": None}),
        parse_headers("/closed/*", {"Access-Control-Allow-Origin": None, "Cache-Control": "no-store"}),
    ]
    files: Files = {"index.html": "home", "open/a.html": "a", "closed/a.html": "a"}
    rules = "/*\n  Access-Control-Allow-Origin: *\n  X-Both: files\n  X-File: files\n"
    compiled = compile_headers(settings)
    await serve(edge, "set", files, headers=compiled)
    await serve(edge, "both", {**files, "_headers": rules}, headers=compiled)
    names = ("x-frame-options", "x-both", "access-control-allow-origin", "x-file", "cache-control")
    for host, allowed, file in (("set.test", None, None), ("both.test", "*", "files")):
        for path, expected in (
            ("/", ("DENY", "settings", allowed, file, REVALIDATE)),
            ("/open/a", (None, "settings", ORIGIN, file, REVALIDATE)),
            ("/closed/a", ("DENY", "settings", None, file, "no-store")),
        ):
            answer = await edge.get(host, path)
            assert (answer.status_code, *(answer.headers.get(name) for name in names)) == (200, *expected)
        preflight = {"origin": ORIGIN, "access-control-request-method": "GET"}
        for path, status in (("/open/a", 204), ("/closed/a", 405)):
            assert (await edge.get(host, path, method="OPTIONS", headers=preflight)).status_code == status


async def test_what_a_worker_remembers_of_a_path_does_not_depend_on_the_rest_of_a_request(edge: EdgeHarness):
    """The first row is asked again after the others."""
    headers = "/*\n  Access-Control-Allow-Origin: *\n  X-From: rules\n"
    redirects = "/asked id=1 /one 302!\n/asked id=:id /found/:id 302!\n"
    await serve(edge, "asked", {"asked.html": "page", "_redirects": redirects, "_headers": headers})
    await serve(edge, "other", {"asked.html": "other", "_headers": "/asked\n  X-From: others\n"})
    rows = (("", None), ("?id=1", "/one?id=1"), ("?id=2", "/found/2?id=2"), ("?x=1", None), ("", None))
    for query, location in rows:
        answer = await edge.get("asked.test", f"/asked{query}")
        assert (answer.headers.get("location"), answer.headers["x-from"]) == (location, "rules")
        assert (await edge.get("other.test", f"/asked{query}")).headers["x-from"] == "others"
        preflight = {"origin": "https://a.example", "access-control-request-method": "GET"}
        allowed = await edge.get("asked.test", f"/asked{query}", method="OPTIONS", headers=preflight)
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (204, "*")
    long = "/" + "a" * 300
    assert (await edge.get("asked.test", long)).headers["x-from"] == "rules"


async def test_environments_other_than_production_are_not_for_search_engines(edge: EdgeHarness):
    await serve(edge, "preview", {"index.html": "home", "404.html": "none"}, noindex=True)
    for path in ("/", "/nothing", "/old"):
        assert "noindex" in (await edge.get("preview.test", path)).headers["x-robots-tag"]
    await serve(edge, "live", {"index.html": "home"})
    assert "x-robots-tag" not in (await edge.get("live.test", "/")).headers


async def test_brotli_is_preferred_over_gzip_and_both_are_made_when_it_is_deployed(edge: EdgeHarness):
    text = "console.log('some code');\n" * 200
    release = edge.release(
        "rel-compressed", {"index.html": "home", "app.js": text, "tiny.js": "1", "own.js": text}
    )
    (edge.data / "releases" / release / "own.js.br").write_bytes(b"the site's own")
    assert add_compressed_files(edge.data / "releases" / release) == 2
    await edge.site("compressed.test", "compressed", {}, release=release)
    request = "GET /{} HTTP/1.1\r\nHost: compressed.test\r\nAccept-Encoding: {}\r\nConnection: close\r\n\r\n"
    for accepted, encoding in (("gzip, deflate, br", "br"), ("br;q=1.0, gzip;q=0.8", "br"), ("gzip", "gzip")):
        head, _, body = (await edge.raw(request.format("app.js", accepted).encode())).partition(b"\r\n\r\n")
        assert f"Content-Encoding: {encoding}".encode() in head
        assert b"Vary: Accept-Encoding" in head
        assert (brotli.decompress if encoding == "br" else gzip.decompress)(body).decode() == text
    plain = await edge.raw(request.format("app.js", "identity").encode())
    assert b"Content-Encoding" not in plain
    assert (await edge.raw(request.format("own.js", "br").encode())).endswith(b"the site's own")


async def test_a_site_has_its_own_page_for_failures(edge: EdgeHarness):
    """Its functions do not answer: nobody listens on their socket."""
    route = FunctionRoute("/_fn/any", "fnv_none", 100, 1000)
    files: dict[str, str | bytes] = {"index.html": "home", "50x.html": "<h1>we are sorry</h1>"}
    await edge.site("failing.test", "failing", files, runtime="wasm", functions=(route,))
    answer = await edge.get("failing.test", "/_fn/any")
    assert (answer.status_code, answer.text) == (503, "<h1>we are sorry</h1>")
    assert answer.headers["x-stead-reason"] == "function_stopped"
    assert answer.headers["cache-control"] == "no-store"
    posted = await edge.get("failing.test", "/_fn/any", method="POST")
    assert (posted.status_code, posted.headers["x-stead-reason"]) == (503, "function_stopped")
    await edge.site(
        "failing-too.test", "failing-too", {"index.html": "home"}, runtime="wasm", functions=(route,)
    )
    answer = await edge.get("failing-too.test", "/_fn/any")
    assert (answer.status_code, answer.headers["x-stead-reason"]) == (503, "function_stopped")


@pytest.mark.parametrize(
    "text",
    [
        '/x /y";}server{listen 81;} 302',
        "/x /$host$request_uri 302",
        "/x /${stead_release} 302",
        "/x /%0d%0aSet-Cookie:a=b 302",
        "/x /]]os.execute('id')[[ 302",
        '/x /"..ngx.exit(500).." 302',
        "/x /a%00b 200",
        "/x /../../../etc/passwd 200",
        "/x /%2e%2e/%2e%2e/etc/passwd 200",
        "/x /..%2f..%2f..%2fetc/passwd 200",
        "/x @missing 200",
        "/x /@missing 200",
        "/x /.git/config 200",
        "/x /_redirects 200",
    ],
)
async def test_a_destination_is_only_ever_text(edge: EdgeHarness, text: str):
    """Nothing in it is a variable, configuration, code, or a way out of the release."""
    name = f"hostile{abs(hash(text)) % 10**8}"
    await serve(edge, name, {"index.html": "home", ".git/config": "secret", "_redirects": text})
    answer = await edge.get(f"{name}.test", "/x")
    assert answer.status_code in (302, 404), answer.text
    assert "set-cookie" not in answer.headers
    assert "root:" not in answer.text
    assert "secret" not in answer.text
    if answer.status_code == 302:
        assert answer.headers["location"].startswith("/")
        assert name not in answer.headers["location"]
    assert (await edge.get(f"{name}.test", "/")).text == "home"


async def test_the_largest_allowed_rules_are_answered_and_more_are_ignored(edge: EdgeHarness):
    redirects = "".join(f"/from/{number} /to/{number} 302\n" for number in range(6000))
    headers = "".join(f"/from/{number}\n  X-Number: {number}\n" for number in range(1500))
    files: Files = {"index.html": "home", "_redirects": redirects, "_headers": headers + "/*\n  X-All: 1\n"}
    warnings = await serve(edge, "large", files)
    assert any("at most 5000 rules" in warning for warning in warnings)
    assert any("at most 1000 paths" in warning for warning in warnings)
    last = await edge.get("large.test", "/from/4999")
    assert (last.status_code, last.headers["location"]) == (302, "/to/4999")
    assert (await edge.get("large.test", "/from/5000")).status_code == 404
    assert (await edge.get("large.test", "/from/999")).headers["x-number"] == "999"
    assert "x-number" not in (await edge.get("large.test", "/from/1000")).headers


async def test_one_response_never_has_more_headers_than_a_client_accepts(edge: EdgeHarness):
    patterns = ["/*", "/:a", "/:a/", "/x", "/:b/*", "/x/*"]
    lines = [
        f"{pattern}\n" + "".join(f"  X-{at}-{n}: {'v' * 200}\n" for n in range(30))
        for at, pattern in enumerate(patterns)
    ]
    await serve(edge, "many-headers", {"index.html": "home", "x.html": "x", "_headers": "".join(lines)})
    answer = await edge.get("many-headers.test", "/x")
    assert answer.status_code == 200
    assert sum(len(name) + len(value) for name, value in answer.headers.items()) < 10_000


async def test_a_long_path_and_many_placeholders_cost_little(edge: EdgeHarness):
    """The number of branches that a request visits is limited, whatever the rules are."""
    rules = [
        f"/{'/'.join(':p' + str(n) for n in range(1 + number % 30))}/end{number} /x 302"
        for number in range(200)
    ]
    warnings = await serve(edge, "deep", {"index.html": "home", "_redirects": "\n".join(rules)})
    assert any("at most 100 paths can have placeholders" in warning for warning in warnings)
    answer = await edge.get("deep.test", "/" + "a/" * 4000)
    assert answer.status_code == 404


async def test_compiled_rules_that_a_site_brings_along_are_not_used(edge: EdgeHarness):
    compiled = '{"redirects": {"rules": [{"to": "/evil", "status": 302}], "exact": {"/x": [1]}}}'
    files: Files = {
        "index.html": "home",
        "rel-forged.json": compiled,
        "release-rules/rel-forged.json": compiled,
    }
    await serve(edge, "forged", files)
    assert (await edge.get("forged.test", "/x")).status_code == 404
