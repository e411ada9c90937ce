"""Functions with everything real: built in the sandbox, served by the edge over HTTPS."""

import hmac
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from stead.dev.running_stack import RunningStack
from tests.git_server import GitServer
from tests.journeys.customer import Customer
from tests.journeys.test_insights import ARRIVES_SECONDS, rows_of, trace_of
from tests.journeys.visitor import Visitor
from tests.node.harness import until

DOMAIN = "functions.example.com"

HELLO = """
let calls = 0;
export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname.endsWith("/loop")) for (;;) {}
    if (url.pathname.endsWith("/throw")) throw new Error("it broke");
    return Response.json({
      version: 1, calls: ++calls, random: Math.random(),
      path: url.pathname, name: url.searchParams.get("name"),
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


@pytest.fixture(scope="module")
async def site(customer: Customer) -> str:
    """A site for functions that need no site of their own. It answers at `DOMAIN`."""
    return await _site(customer, DOMAIN)


async def test_a_function_answers_on_the_domain_of_its_site(
    customer: Customer, visitor: Visitor, site: str
) -> None:
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
    before = json.loads(seen.text)
    endless = await visitor.get(DOMAIN, "/_fn/hello/loop")
    assert endless.status == 503
    assert endless.headers["x-stead-reason"] in ("function_time_limit", "function_stopped")
    # Another instance, with other random numbers.
    after = json.loads((await visitor.get(DOMAIN, "/_fn/hello")).text)
    assert before["random"] != after["random"]


GUESTBOOK = """
const VERSION = 1;

async function sign(key, text) {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", encoder.encode(key), algorithm, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", imported, encoder.encode(text)));
  return [...signature].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function write(request, env) {
  const entry = await request.json();
  const answer = await fetch(env.WORDS);
  if (!answer.ok) return new Response("no words", { status: 502 });
  const checked = (await answer.text()).trim();
  const lock = await env.LOCKS.lock("book", { ttl: 5 });
  if (!lock) return new Response("busy", { status: 409 });
  const number = await env.LOCKS.increment("entries");
  await env.BOOK.put(`entry/${String(number).padStart(6, "0")}`, JSON.stringify({ ...entry, checked }));
  await env.LOCKS.unlock("book", lock.token);
  const signature = await sign(env.KEY, entry.text);
  return Response.json({ number, token: lock.token, signature }, { status: 201 });
}

export default {
  async fetch(request, env, context) {
    const url = new URL(request.url);
    if (url.pathname === "/") return Response.json({ version: VERSION });
    if (url.pathname.endsWith("/elsewhere")) {
      try {
        return await fetch(url.searchParams.get("url"));
      } catch (error) {
        return Response.json({ code: error.code, message: error.message }, { status: 403 });
      }
    }
    if (request.method === "POST") return await write(request, env);
    const { keys } = await env.BOOK.list({ prefix: "entry/" });
    const entries = await Promise.all(keys.map((key) => env.BOOK.get(key, { type: "json" })));
    console.log("listed", entries.length, env.KEY);
    return Response.json({ version: VERSION, entries, count: await env.LOCKS.get("entries") });
  },
};
"""
KEY = "a key that is in no log"


@pytest.mark.timeout(1200)
async def test_a_guestbook_keeps_what_visitors_write(
    customer: Customer, visitor: Visitor, stack: RunningStack, git_server: GitServer
) -> None:
    domain = "guestbook.example.com"
    site = await _site(customer, domain)
    await customer.does("PATCH", f"/v1/sites/{site}/config", {"observability": {"trace_sample_rate": 1.0}})
    await customer.put(f"/v1/sites/{site}/environments/production/secrets/KEY", {"value": KEY})
    repository = git_server.create("words.git")
    repository.commit(**{"index.html": "words"})
    listed = f"{git_server.host}:{git_server.port}"
    new = {
        "site_id": site,
        "slug": "book",
        "display_name": "Guestbook",
        "source": GUESTBOOK,
        "env": {"WORDS": f"{repository.url}/HEAD"},
        "secret_refs": ["KEY"],
        "limits": {"wall_ms": 20_000, "requests_per_second": 10_000},
        "route_path": "/",
        "bindings": [
            {"kind": "kv", "name": "BOOK", "config": {"namespace": "book"}},
            {"kind": "coord", "name": "LOCKS", "config": {"namespace": "book"}},
            {"kind": "fetch", "name": "WEB", "config": {"allow": [listed, "127.0.0.1"]}},
        ],
    }
    function = await customer.post("/v1/functions", new)
    assert function["language"] == "javascript"
    live = await _built(customer, function)
    assert (live["build_status"], live["secret_refs"]) == ("live", ["KEY"])
    await visitor.until(domain, '"entries":[]', "/book")

    async with visitor.browser(domain) as browser:
        for number, text in enumerate(("first", "second"), 1):
            written = await browser.post("/book", json={"name": "Ada", "text": text})
            assert written.status_code == 201, written.text
            assert written.json()["number"] == number
            expected = hmac.digest(KEY.encode(), text.encode(), "sha256").hex()
            assert written.json()["signature"] == expected
        read = await browser.get("/book")
        assert read.json()["count"] == 2
        entries = [(entry["text"], entry["checked"]) for entry in read.json()["entries"]]
        assert entries == [("first", "ref: refs/heads/main"), ("second", "ref: refs/heads/main")]
        # Not listed, and listed at an address that is not public.
        for url in ("https://other.example.com/", "http://127.0.0.1/"):
            refused = await browser.get("/book/elsewhere", params={"url": url})
            assert (refused.status_code, refused.json()["code"]) == (403, "fetch.refused")

    # The second version replaces the first one without a failed request; then it is rolled back.
    path = f"/v1/functions/{function['id']}"
    async with visitor.visiting(domain) as seen:
        second = GUESTBOOK.replace("VERSION = 1", "VERSION = 2")
        built = await customer.post(f"{path}/build", {"source": second})
        await _built(customer, {**function, "last_build_job_id": built["job_id"]})
        assert '"version":2' in (await visitor.get(domain, "/book")).text
    assert {answer.status for answer in seen} == {200}
    assert {json.loads(answer.text)["version"] for answer in seen} == {1, 2}
    versions = await customer.get(f"{path}/versions")
    assert [version["active"] for version in versions] == [True, False]
    rolled_back = await customer.post(f"{path}/rollback", {"version_id": versions[1]["id"]})
    await customer.follow(rolled_back["job_id"])
    assert '"version":1' in (await visitor.get(domain, "/book")).text

    await _require_insights(
        customer, f"/v1/sites/{site}", written.headers["x-trace-id"], read.headers["x-trace-id"]
    )
    # The secret is in no file of the node but the sealed table.
    logs = (stack.node_data / "functions" / "logs").glob("*")
    assert not [log for log in logs if KEY in log.read_text()]

    # It moves with its site, and keeps its state.
    team = (await customer.post("/v1/teams", {"name": "Readers"}))["team_id"]
    moved = await customer.post(f"/v1/sites/{site}/transfer", {"to_team_id": team})
    assert moved["functions_transferred"] == 1
    assert '"count":2' in (await visitor.get(domain, "/book")).text

    assert (await customer.api.delete(path)).status_code == 204
    jobs = await customer.get(f"/v1/jobs?site_id={site}&resource_type=function")
    await customer.follow(jobs[0]["id"])
    assert (await visitor.get(domain, "/book")).status == 404


async def _require_insights(customer: Customer, site: str, writing: str, reading: str) -> None:
    """The owner sees what the function did: its requests with what they used, their parts, and its log."""
    trace = await trace_of(customer, site, writing, services={"edge", "function", "state", "http"})
    spans = {span["service"]: span for span in trace["spans"]}
    assert spans["function"]["parent_id"] == spans["edge"]["span_id"]
    assert spans["function"]["name"].startswith("POST /book (fnv_")
    assert spans["function"]["status_code"] == 201
    assert {spans[name]["parent_id"] for name in ("state", "http")} == {spans["function"]["span_id"]}
    assert spans["http"]["name"].startswith("fetch 127.0.0.1:")

    rows = await rows_of(customer, site, "/book", count=4)
    (row,) = [row for row in rows if row["trace_id"] == writing]
    assert row["function_version_id"].startswith("fnv_")
    assert row["cpu_ms"] > 0
    assert row["memory_bytes"] > 1 << 20

    async def look() -> list[dict[str, Any]] | None:
        found = await customer.get(f"{site}/insights/logs?hours=1&trace_id={reading}")
        return found["lines"] or None

    (line,) = await until(look, ARRIVES_SECONDS, pause=0.5)
    assert (line["container"], line["service_name"]) == ("functions", "function")
    assert line["body"].endswith("listed 2 [secret]")


async def test_a_folder_is_built_and_too_many_requests_are_an_event(
    customer: Customer, visitor: Visitor
) -> None:
    domain = "folder.example.com"
    site = await _site(customer, domain)
    files = {
        "project/package.json": '{"main": "src/start.js"}',
        "project/src/start.js": 'import { greet } from "greeting";\nimport { mark } from "./mark.js";\n'
        "export default { fetch: () => new Response(greet(mark) + navigator.compatibilityDate) };",
        "project/src/mark.js": 'export const mark = "!";',
        "project/node_modules/greeting/package.json": '{"name": "greeting", "main": "index.js"}',
        "project/node_modules/greeting/index.js": "exports.greet = (mark) => `from a folder${mark} `;",
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    upload = await customer.post(f"/v1/sites/{site}/uploads", {"size_bytes": len(archive.getvalue())})
    async with httpx.AsyncClient(timeout=60.0) as client:
        sent = await client.put(upload["url"], content=archive.getvalue(), headers=upload["headers"])
        assert sent.is_success, sent.text
    new = {
        "site_id": site,
        "slug": "folder",
        "display_name": "Folder",
        "upload_id": upload["id"],
        "compatibility_date": "2026-11-02",
        "limits": {"wall_ms": 20_000, "requests_per_second": 1},
    }
    live = await _built(customer, await customer.post("/v1/functions", new))
    assert (live["build_status"], live["compatibility_date"]) == ("live", "2026-11-02")
    await visitor.until(domain, "from a folder! 2026-11-02", "/_fn/folder")

    async def refuse() -> bool | None:
        seen = [await visitor.get(domain, "/_fn/folder") for _ in range(5)]
        reasons = {answer.headers.get("x-stead-reason") for answer in seen if answer.status == 429}
        return True if reasons == {"function_rate_limit"} else None

    await until(refuse)

    async def find_event() -> dict[str, Any] | None:
        events = await customer.get("/v1/events?type=function.limited")
        return next((event for event in events if event["site_id"] == site), None)

    event = await until(find_event, ARRIVES_SECONDS, pause=0.5)
    assert event["data"]["function_id"] == live["id"]
    assert event["data"]["requests_per_second"] == 1


DOCUMENT = Path(__file__).parents[2] / "docs" / "functions.md"
EXAMPLES = {"js": "javascript", "ts": "typescript", "rust": "rust", "go": "go", "c": "c", "zig": "zig"}
"""How the document marks the examples of each language."""


@pytest.mark.timeout(1200)
async def test_the_example_of_every_language_works_as_documented(
    customer: Customer, visitor: Visitor, site: str
) -> None:
    found = dict(re.findall(r"^```([a-z]+)\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE))
    functions = {}
    for mark, language in EXAMPLES.items():
        new = {
            "site_id": site,
            "slug": language,
            "display_name": language,
            "language": language,
            "source": found[mark],
            "env": {"GREETING": "hello"},
            "limits": {"wall_ms": 20_000},
            "bindings": [
                {"kind": "coord", "name": "COUNTERS", "config": {"namespace": language}},
                {"kind": "kv", "name": "STORE", "config": {"namespace": language}},
            ],
        }
        functions[language] = await customer.post("/v1/functions", new)
    await visitor.until(DOMAIN, "", "/")  # It has a certificate.
    for language, function in functions.items():
        live = await _built(customer, function)
        assert live["build_status"] == "live", (language, live)
        path = f"/_fn/{language}"
        for visit in (1, 2, 3):
            seen = await visitor.get(DOMAIN, f"{path}/grün?visit={visit}")
            assert seen.status == 200, (language, seen)
            expected = f'"visits":{visit}' if language == "javascript" else f"visit {visit} from "
            assert expected in seen.text, (language, seen.text)


INTERFACES = Path(__file__).with_name("web_interfaces.js")


async def test_javascript_has_the_interfaces_of_the_web_that_the_document_lists(
    customer: Customer, visitor: Visitor, site: str
) -> None:
    table = DOCUMENT.read_text().partition("| Available | Notes |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    listed = {
        name: notes != "Not available." for names, notes in rows for name in re.findall(r"`([\w.]+)`", names)
    }
    assert {"URL", "crypto.subtle", "WebSocket"} <= listed.keys()
    new = {
        "site_id": site,
        "slug": "interfaces",
        "display_name": "Interfaces",
        "source": INTERFACES.read_text(),
        "limits": {"wall_ms": 20_000},
    }
    live = await _built(customer, await customer.post("/v1/functions", new))
    assert live["build_status"] == "live", live
    await visitor.until(DOMAIN, "", "/")
    async with visitor.browser(DOMAIN) as browser:
        checked = (await browser.post("/_fn/interfaces", json=list(listed))).json()
    assert checked["failed"] == {}
    assert checked["count"] > 40
    assert checked["available"] == listed


async def test_errors_of_compilers_have_file_and_line(customer: Customer, site: str) -> None:
    sources = {
        "typescript": ("const a = 1;\nexport default {{{", r"function\.ts:2:1\d"),
        "c": ("#include <stead.h>\n\nint x = missing;\n", r"function\.c:3:9"),
    }
    for language, (source, place) in sources.items():
        new = {"site_id": site, "slug": f"no-{language}", "display_name": "Broken", "language": language}
        function = await customer.post("/v1/functions", {**new, "source": source})
        heard = await customer.listen(function["last_build_job_id"])
        assert heard.done == [{"status": "failed"}]
        assert re.search(place, "\n".join(heard.lines)), heard.lines
        read = await customer.get(f"/v1/functions/{function['id']}")
        assert (read["build_status"], read["active_version_id"]) == ("failed", None)
