"""The CMS API against a live WordPress: each effect is seen from outside."""

import asyncio
import base64
import gzip
import time
from urllib.parse import urlsplit

import dns.asyncquery
import dns.message
import httpx

from stead.dev.engines.powerdns import PowerDns
from stead.dev.running_stack import RunningStack
from tests.journeys.customer import Customer
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import DOMAIN, WordPressSite
from tests.node.harness import until
from tests.node.wordpress.component_server import pack_plugin

QUESTION_SECONDS, GRACE_SECONDS = 15, 60
"""How long the API waits for a site, and what a slow machine may add."""


async def test_content_users_events_and_rows_are_changed_and_seen(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite
) -> None:
    site, host = wordpress_site.path, wordpress_site.host
    production = f"{site}/environments/production"
    components = await customer.get(f"{site}/components")
    assert components == await customer.get(f"{production}/components")
    assert {each["kind"] for each in components} == {"plugin", "theme"}

    post = await customer.post(f"{site}/content", {"title": "Out of the API", "status": "publish"})
    assert post["url"].startswith(f"https://{DOMAIN}/")
    page = urlsplit(post["url"]).path
    await visitor.until(DOMAIN, "Out of the API", page)
    changed = await customer.api.patch(f"{site}/content/{post['id']}", json={"title": "Changed there"})
    assert changed.json()["data"]["title"] == "Changed there"
    await visitor.until(DOMAIN, "Changed there", page)

    query = {"query": "SELECT post_title FROM wp_posts WHERE ID = ?", "params": [int(post["id"])]}
    found = await customer.post(f"{site}/database/query", query)
    assert found["rows"] == [{"post_title": "Changed there"}]

    user = await customer.post(
        f"{site}/users",
        {"login": "grace", "email": "grace@example.com", "role": "editor", "password_delivery": "response"},
    )
    async with visitor.browser(host) as person:
        form = {"log": "grace", "pwd": user["password"], "wp-submit": "Log In", "testcookie": "1"}
        assert (await person.post("/wp-login.php", data=form)).status_code == 302
    assert "password" not in await customer.get(f"{site}/users/{user['id']}")
    await customer.api.delete(f"{site}/users/{user['id']}")
    assert (await customer.api.get(f"{site}/users/{user['id']}")).status_code == 404

    event = await customer.post(f"{site}/cron", {"hook": "say_hello", "schedule": "daily", "args": ["x", 1]})
    assert event["args"] == ["x", "1"]
    listed = await customer.get(f"{site}/cron?limit=100")
    assert event["id"] in [each["id"] for each in listed]
    job = await customer.post(f"{site}/cron/{event['id']}/run")
    await customer.follow(job["id"])
    assert (await customer.api.delete(f"{site}/cron/{event['id']}")).status_code == 204

    operations = [
        {"action": "create", "new": {"title": "In a batch", "status": "publish"}},
        {"action": "delete", "id": post["id"]},
        {"action": "delete", "id": "999999"},
    ]
    job = await customer.post(f"{site}/content:batch", {"operations": operations})
    lines = (await customer.listen(job["id"])).lines
    assert "content: 2 of 3 changes were made" in lines
    assert (await customer.get(f"{site}/content/{post['id']}"))["status"] == "trash"


async def test_a_dns_record_is_answered_by_the_name_server(
    customer: Customer, wordpress_site: WordPressSite, stack: RunningStack
) -> None:
    records = f"{wordpress_site.path}/dns/records"
    made = await customer.post(records, {"type": "TXT", "name": "said", "value": "by the API"})
    query = dns.message.make_query(f"said.{DOMAIN}.", "TXT")

    async def ask() -> list[str] | None:
        answer = await dns.asyncquery.udp(query, "127.0.0.1", port=stack[PowerDns].dns_port, timeout=5)
        return [str(each) for part in answer.answer for each in part] or None

    assert await until(ask) == ['"by the API"']
    assert (await customer.get(f"{records}/{made['id']}"))["published"]


async def test_an_export_is_downloaded(customer: Customer, wordpress_site: WordPressSite) -> None:
    body = {"tables": ["wp_options"], "compress": True}
    done = await customer.does("POST", f"{wordpress_site.path}/database/export", body)
    async with httpx.AsyncClient(timeout=60) as client:
        dump = await client.get(done["result"]["download_url"])
    assert len(dump.content) == done["result"]["size_bytes"]
    text = gzip.decompress(dump.content).decode()
    assert "CREATE TABLE `wp_options`" in text
    assert "wp_posts" not in text

    statement = {"query": "SELECT option_name FROM wp_options WHERE option_name = ?", "params": ["siteurl"]}
    done = await customer.does("POST", f"{wordpress_site.path}/database/export", statement)
    async with httpx.AsyncClient(timeout=60) as client:
        result = await client.get(done["result"]["download_url"])
    assert gzip.decompress(result.content) == b'{"option_name":"siteurl"}\n'


async def test_a_plugin_is_uploaded_updated_and_deleted(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite
) -> None:
    site, host = wordpress_site.path, wordpress_site.host
    say = "add_action('wp_footer', function () { echo 'says %s'; });"
    await _install(customer, site, pack_plugin("herald", "1.0", say % "one"), "herald")
    await visitor.until(host, "says one", "/?herald=1")
    (herald,) = [each for each in await customer.get(f"{site}/components?kind=plugin&status=active")
                 if each["slug"] == "herald"]  # fmt: skip
    assert (herald["version"], herald["status"], herald["type"]) == ("1.0", "active", "regular")
    # The same installation with another archive is an update.
    await _install(customer, site, pack_plugin("herald", "2.0", say % "two"), "herald")
    await visitor.until(host, "says two", "/?herald=2")
    one = f"{site}/components/{herald['id']}"
    await customer.does("PATCH", one, {"status": "inactive"})
    assert "says two" not in (await visitor.get(host, "/?herald=3")).text
    breaking = "add_action('template_redirect', function () { undefined_function(); });"
    upload = await _send(customer, site, pack_plugin("herald", "3.0", breaking))
    body = {"kind": "plugin", "slug": "herald", "source": upload, "activate": True}
    job = await customer.post(f"{site}/components", body)
    failed = await customer.follow(job["id"], status="failed")
    assert failed["error"]["code"] == "component.unhealthy"
    assert (await visitor.get(host, "/?herald=4")).status == 200
    query = {"query": "SELECT option_value AS v FROM wp_options WHERE option_name = 'active_plugins'"}
    assert "herald" not in (await customer.post(f"{site}/database/query", query))["rows"][0]["v"]
    await customer.does("DELETE", one)
    assert (await customer.api.patch(one, json={"status": "active"})).status_code == 404


PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HOSTILE = """
if (isset($_SERVER['STEAD_QUESTION'])) {
    switch (get_option('blogdescription')) {
        case 'crash': undefined_function();
        case 'hang': sleep(20); break;
        case 'html': echo '<html><body>maintenance'; break;
        case 'lie': add_action('init', function () {
            Stead\\Questions\\Reply::send(['result' => ['items' => 1, 'components' => 7]]);
            exit;
        });
    }
}
"""
"""A plugin that recognizes the platform. What it does is the subtitle of the site."""


async def test_an_uploaded_picture_is_in_the_library(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite
) -> None:
    upload = await _send(customer, wordpress_site.path, PICTURE)
    body = {"type": "media", "filename": "dot.png", "source": upload, "title": "A dot"}
    made = await customer.post(f"{wordpress_site.path}/content", body)
    path = urlsplit(made["file_url"]).path
    assert (await visitor.get(wordpress_site.host, path)).status == 200
    post = {"title": "With a picture", "status": "publish", "featured_media": made["id"]}
    written = await customer.post(f"{wordpress_site.path}/content", post)
    assert written["featured_media"] == made["id"]


async def test_a_hostile_plugin_gives_clear_errors_in_time(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite
) -> None:
    site, production = wordpress_site.path, f"{wordpress_site.path}/environments/production"
    await _install(customer, site, pack_plugin("hostile", "1.0", HOSTILE), "hostile")
    outcomes = {"html": (200, None), "crash": (502, "site.failed"), "lie": (502, "site.answer_invalid")}
    for mode, expected in (outcomes | {"hang": (504, "site.timeout")}).items():
        await customer.run(production, "option", "update", "blogdescription", mode)
        began = time.monotonic()
        asked = [
            customer.api.get(f"{site}/{family}") for family in ("components", "content", "users", "cron")
        ]
        asked.append(customer.api.post(f"{site}/content", json={"title": f"During {mode}"}))
        answers = await asyncio.gather(*asked)
        assert time.monotonic() - began < QUESTION_SECONDS + GRACE_SECONDS
        for each in answers:
            wanted = (201, None) if each.status_code == 201 and mode == "html" else expected
            code = None if each.is_success else each.json()["error"]["code"]
            assert (each.status_code, code) == wanted, (mode, str(each.request.url), each.text[:300])
        # Neither visitors nor the database nor the API notice.
        assert (await visitor.get(wordpress_site.host, f"/?during={mode}")).status == 200
        found = await customer.post(f"{site}/database/query", {"query": "SELECT 1 AS one"})
        assert found["rows"] == [{"one": 1}]
    await customer.run(production, "plugin", "uninstall", "hostile", "--deactivate")


async def _send(customer: Customer, site: str, archive: bytes) -> str:
    upload = await customer.post(f"{site}/uploads", {"size_bytes": len(archive)})
    async with httpx.AsyncClient(timeout=60) as client:
        put = await client.put(upload["url"], content=archive, headers=upload["headers"])
    assert put.is_success, put.text
    return str(upload["id"])


async def _install(customer: Customer, site: str, archive: bytes, slug: str) -> None:
    upload = await _send(customer, site, archive)
    body = {"kind": "plugin", "slug": slug, "source": upload, "activate": True}
    await customer.does("POST", f"{site}/components", body)
