"""The CMS API against a live WordPress: each effect is seen from outside."""

import gzip

import dns.asyncquery
import dns.message
import httpx
import pytest

from stead.dev.engines.powerdns import PowerDns
from stead.dev.running_stack import RunningStack
from tests.journeys.customer import Customer
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import DOMAIN, WordPressSite
from tests.node.harness import until

pytestmark = pytest.mark.timeout(600)


async def test_content_users_events_and_rows_are_changed_and_seen(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite
) -> None:
    site, host = wordpress_site.path, wordpress_site.host
    production = f"{site}/environments/production"
    components = await customer.get(f"{site}/components")
    assert components == await customer.get(f"{production}/components")
    assert {each["kind"] for each in components} == {"plugin", "theme"}

    post = await customer.post(f"{site}/content", {"title": "Out of the API", "status": "publish"})
    # On the front page: the address of the post is at the domain of the site, not at its preview host.
    await visitor.until(host, "Out of the API", "/?seen=1")
    changed = await customer.api.patch(f"{site}/content/{post['id']}", json={"title": "Changed there"})
    assert changed.json()["data"]["title"] == "Changed there"
    await visitor.until(host, "Changed there", "/?seen=2")

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


async def test_a_plugin_is_deleted_by_a_job(
    customer: Customer, wordpress_site: WordPressSite, stack: RunningStack
) -> None:
    del stack
    site = wordpress_site.path
    found = [
        each for each in await customer.get(f"{site}/components?kind=plugin") if each["type"] == "regular"
    ]
    if not found:
        pytest.skip("this WordPress has no plugin")
    await customer.does("DELETE", f"{site}/components/{found[0]['id']}")
    left = await customer.get(f"{site}/components?kind=plugin")
    assert found[0]["id"] not in [each["id"] for each in left]
