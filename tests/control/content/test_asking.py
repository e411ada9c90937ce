"""The API asks a site: what it does when the site or its node lies, is silent or slow."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from stead.node.drivers.driver import Driver, Handler
from stead.node.drivers.driver_set import DriverSet
from stead.node.questions import IN_ALL, PER_OWNER, Questions
from stead.protocol import questions as protocol
from stead.protocol.questions import Answer, Question
from stead.shared.ids import new_id
from tests.answering_node import answering, answering_site, place_on_answering_node
from tests.client import Client, code_of
from tests.documented_commands import run_commands
from tests.people import Person


def _node() -> str:
    return f"lying-{new_id('req').removeprefix('req_')}"


async def _site_on(person: Person, node: str) -> str:
    site = await answering_site(person, {})
    async with person.transaction() as tx:
        await place_on_answering_node(tx, site, node)
    return site


async def test_a_repeated_request_changes_the_site_once(person: Person):
    site = await answering_site(person, {})
    path, key = f"/v1/sites/{site}/content", {"idempotency-key": new_id("req")}
    body = {"title": "Once"}
    first = await person.session.post(path, json=body, headers=key)
    again = await person.session.post(path, json=body, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["idempotent-replayed"] == "true"
    assert first.json()["data"] == again.json()["data"]
    found = (await person.session.get(path)).json()["data"]
    assert [each["title"] for each in found].count("Once") == 1
    other = await person.session.post(path, json={"title": "Other"}, headers=key)
    assert code_of(other) == "idempotency.key_reused"
    async with person.transaction() as tx:
        audited = "select count(*) from audit_events where site_id = $1 and event = 'content_create'"
        assert await tx.value(audited, site) == 1


async def test_a_duplicate_is_refused_while_the_site_is_asked(person: Person):
    node, was_asked, may_answer, asked = _node(), asyncio.Event(), asyncio.Event(), []

    async def answer(question: Question) -> Answer:
        asked.append(question)
        was_asked.set()
        await may_answer.wait()
        return Answer(node, question.id, protocol.REFUSED, "no")

    site = await _site_on(person, node)
    path, key = f"/v1/sites/{site}/content", {"idempotency-key": new_id("req")}
    async with answering(node, answer):
        first = asyncio.create_task(person.session.post(path, json={"title": "x"}, headers=key))
        async with asyncio.timeout(60):
            await was_asked.wait()
        second = await person.session.post(path, json={"title": "x"}, headers=key)
        may_answer.set()
        refused = await first
        assert code_of(second) == "idempotency.in_flight"
        assert code_of(refused) == "site.refused"
        # It has failed, so it may be repeated.
        assert code_of(await person.session.post(path, json={"title": "x"}, headers=key)) == "site.refused"
    assert len(asked) == 2


async def _audited(person: Person, site: str) -> list[tuple[str, Any]]:
    """The outcome and the facts of each entry, without the names in the path."""
    async with person.transaction() as tx:
        rows = await tx.all(
            lambda outcome, meta: (outcome, meta),
            "select outcome, meta from audit_events where site_id = $1 and event = 'content_create'",
            site,
        )
    return [(outcome, {key: meta[key] for key in meta if key != "site_id"}) for outcome, meta in rows]


@pytest.mark.parametrize(
    ("code", "status", "may_be_made"),
    [
        (protocol.TIMEOUT, 504, True),
        (protocol.FAILED, 502, True),
        (protocol.REFUSED, 400, False),
        (protocol.NOT_FOUND, 502, True),
        (protocol.TOO_MANY, 429, False),
        (protocol.NODE_BUSY, 503, False),
    ],
)
async def test_a_change_that_may_have_been_made_is_audited_and_not_repeated(
    person: Person, code: str, status: int, may_be_made: bool
):
    node, asked = _node(), []

    async def answer(question: Question) -> Answer:
        asked.append(question)
        return Answer(node, question.id, code, "a reason")

    site = await _site_on(person, node)
    path, key = f"/v1/sites/{site}/content", {"idempotency-key": new_id("req")}
    async with answering(node, answer):
        first = await person.session.post(path, json={"title": "x"}, headers=key)
        again = await person.session.post(path, json={"title": "x"}, headers=key)
    assert (first.status_code, again.status_code) == (status, status)
    assert len(asked) == (1 if may_be_made else 2)
    assert ("idempotent-replayed" in again.headers) == may_be_made
    assert await _audited(person, site) == ([("success", {"answered": False})] if may_be_made else [])


async def test_a_change_is_audited_before_the_site_is_asked(person: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stead.control.engines.nats_questions.GRACE_SECONDS", -13.0)
    node, seen = _node(), list[Any]()

    async def answer(question: Question) -> Answer:
        seen.append(await _audited(person, site))
        return Answer(node, question.id, body=b"")

    site = await _site_on(person, node)
    path, key = f"/v1/sites/{site}/content", {"idempotency-key": new_id("req")}
    async with answering(node, answer, under="another"):
        silent = await person.session.post(path, json={"title": "x"}, headers=key)
        again = await person.session.post(path, json={"title": "x"}, headers=key)
    assert (silent.status_code, code_of(again)) == (503, "idempotency.in_flight")
    assert seen == [[("success", {"answered": False})]]
    assert await _audited(person, site) == seen[0]


async def test_a_node_that_is_not_connected_is_reported_at_once(
    person: Person, monkeypatch: pytest.MonkeyPatch
):
    """Not after the time that a site has."""
    monkeypatch.setattr("stead.control.engines.nats_questions.GRACE_SECONDS", 3600.0)
    site = await _site_on(person, _node())
    path, key = f"/v1/sites/{site}/content", {"idempotency-key": new_id("req")}
    async with asyncio.timeout(60):
        for _ in range(2):
            silent = await person.session.post(path, json={"title": "x"}, headers=key)
            assert (silent.status_code, code_of(silent)) == (503, "node.unavailable")
            assert "retry-after" in silent.headers
            assert "idempotent-replayed" not in silent.headers
    assert await _audited(person, site) == []


ITEM = {
    "id": 7, "type": "post", "status": "publish", "title": "t", "slug": "s", "modified_at": None,
    "date": None, "author": 1, "url": "u",
}  # fmt: skip
LIES: list[Any] = [
    b"",
    b"<html>",
    b"null",
    b"[]",
    b'{"items": 1}',
    b'{"items": [{"id": "7"}]}',
    b"[" * 100_000,
    msgspec.json.encode({"items": [ITEM | {"id": -1}]}),
    msgspec.json.encode({"items": [ITEM | {"id": 2**70}]}),
    msgspec.json.encode({"items": [ITEM | {"modified_at": "yesterday"}]}),
    msgspec.json.encode({"items": [ITEM | {"type": "shop_order"}]}),
    msgspec.json.encode({"items": [ITEM] * 201}),
]


@pytest.mark.parametrize("lie", LIES, ids=range(len(LIES)))
async def test_an_answer_that_cannot_be_right_is_an_error(person: Person, lie: bytes):
    node = _node()

    async def answer(question: Question) -> Answer:
        return Answer(node, question.id, body=lie)

    site = await _site_on(person, node)
    async with answering(node, answer):
        refused = await person.session.get(f"/v1/sites/{site}/content")
    assert (refused.status_code, code_of(refused)) == (502, "site.answer_invalid")
    assert not [word for word in ("Expected `", "$.", "malformed") if word in refused.text]


GENERAL_LIES = [*LIES[:4], b'{"items": 1}', b"[" * 100_000, b'{"id": 1}', b'"' + b"x" * 500_000 + b'"']


async def test_no_family_believes_what_cannot_be_right(person: Person):
    node, lies = _node(), [b""]

    async def answer(question: Question) -> Answer:
        return Answer(node, question.id, body=lies[0])

    site = f"/v1/sites/{await _site_on(person, node)}"
    client, cron = person.session, f"{site}/cron/cron_{'0' * 26}"
    requests: list[tuple[str, str, Any]] = [
        *(("GET", f"{site}/{path}", None) for path in ("components", "content", "users", "cron", "database")),
        *(("GET", path, None) for path in (f"{site}/content/1", f"{site}/users/1", cron)),
        ("POST", f"{site}/content", {"title": "x"}),
        ("PATCH", f"{site}/users/1", {"display_name": "x"}),
        ("PATCH", cron, {"schedule": "daily"}),
        ("POST", f"{site}/database/query", {"query": "SELECT 1"}),
        ("POST", f"{site}/database/execute", {"query": "DELETE FROM wp_posts"}),
        ("PATCH", f"{site}/components/comp_p{'0' * 25}", {"version": "latest"}),
    ]
    async with answering(node, answer):
        for lies[0] in GENERAL_LIES:
            for method, path, body in requests:
                refused = await client.request(method, path, json=body)
                what = (method, path, lies[0][:20])
                assert (refused.status_code, code_of(refused)) == (502, "site.answer_invalid"), what


async def test_names_that_no_site_can_have_are_not_believed(person: Person):
    node, component, event = _node(), f"comp_p{'0' * 25}", f"cron_{'0' * 26}"
    found: dict[str, Any] = {
        "id": component,
        "kind": "plugin",
        "type": "regular",
        "slug": "a\0b",
        "file": "a.php",
    }
    found |= {"name": "A", "version": "1", "status": "active", "update_available": None}
    cron: dict[str, Any] = {"id": event, "hook": "a\0b", "args": [], "recurrence": None, "interval": None}
    cron["time"] = 2_000_000_000

    async def answer(question: Question) -> Answer:
        body: Any = {"components": [found]} if question.kind == "components.list" else cron
        return Answer(node, question.id, body=msgspec.json.encode(body))

    site = f"/v1/sites/{await _site_on(person, node)}"
    async with answering(node, answer):
        answers = [
            await person.session.patch(f"{site}/components/{component}", json={"version": "latest"}),
            await person.session.delete(f"{site}/components/{component}"),
            await person.session.post(f"{site}/cron/{event}/run"),
        ]
    assert [(each.status_code, code_of(each)) for each in answers] == [(502, "site.answer_invalid")] * 3
    messages = [each.json()["error"]["message"] for each in answers]
    assert [word in text for word, text in zip(("slug", "slug", "hook"), messages, strict=True)] == [True] * 3


async def test_more_items_than_were_asked_for_do_not_lengthen_a_page(person: Person):
    node = _node()

    async def answer(question: Question) -> Answer:
        return Answer(node, question.id, body=msgspec.json.encode({"items": [ITEM] * 100}))

    site = await _site_on(person, node)
    async with answering(node, answer):
        page = await person.session.get(f"/v1/sites/{site}/content", params={"limit": 3})
    assert len(page.json()["data"]) == 3


@pytest.mark.parametrize(
    ("code", "status", "shown"),
    [
        (protocol.TIMEOUT, 504, "site.timeout"),
        (protocol.FAILED, 502, "site.failed"),
        (protocol.TOO_MANY, 429, "site.questions_exceeded"),
        (protocol.NODE_BUSY, 503, "node.unavailable"),
        (protocol.SUSPENDED, 409, "environment.busy"),
        (protocol.NOT_FOUND, 404, "content.not_found"),
        (protocol.NO_ENVIRONMENT, 503, "node.unavailable"),
        ("anything.else", 503, "node.unavailable"),
    ],
)
async def test_every_way_to_fail_has_its_error(person: Person, code: str, status: int, shown: str):
    node = _node()

    async def answer(question: Question) -> Answer:
        return Answer(node, question.id, code, "a reason")

    site = await _site_on(person, node)
    async with answering(node, answer):
        refused = await person.session.get(f"/v1/sites/{site}/content/1")
    assert (refused.status_code, code_of(refused)) == (status, shown)
    assert ("retry-after" in refused.headers) == (status in (429, 503))


class HangingDriver(Driver):
    """Never answers about sites whose name begins with `slow`."""

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return []

    async def answer(self, question: Question) -> bytes:
        if question.environment.startswith("slow"):
            await asyncio.Event().wait()
        return b"{}"


async def test_an_owner_of_many_sites_that_hang_does_not_use_up_a_node():
    drivers = DriverSet([HangingDriver()])
    node = Questions("n", None, {"live": drivers, "simulator": drivers})  # type: ignore[arg-type]

    def ask(owner: str, environment: str) -> asyncio.Task[Answer]:
        question = Question("n", "p", "q", environment, "live", "content.list", 30.0, b"{}", owner)
        return asyncio.create_task(node.answer(question))

    hanging = [ask("attacker", f"slow{number % 100}") for number in range(IN_ALL + 10)]
    await asyncio.sleep(0)
    other = await ask("other", "fast")
    assert other.code == ""
    refused = [each.result().code for each in hanging if each.done()]
    assert refused == [protocol.TOO_MANY] * (IN_ALL + 10 - PER_OWNER)
    for each in hanging:
        each.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
    assert (await ask("attacker", "fast")).code == ""


async def test_owners_with_many_questions_leave_places_for_others():
    drivers = DriverSet([HangingDriver()])
    node = Questions("n", None, {"live": drivers, "simulator": drivers})  # type: ignore[arg-type]

    def ask(owner: str, environment: str) -> asyncio.Task[Answer]:
        question = Question("n", "p", "q", environment, "live", "content.list", 30.0, b"{}", owner)
        return asyncio.create_task(node.answer(question))

    hanging = [ask(f"attacker{number % 20}", f"slow{number % 200}") for number in range(PER_OWNER * 20)]
    await asyncio.sleep(0)
    assert sum(not each.done() for each in hanging) == IN_ALL // 2
    assert (await ask("other", "fast")).code == ""
    for each in hanging:
        each.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def test_an_owner_who_waits_for_many_answers_is_refused(
    person: Person, stranger: Person, monkeypatch: pytest.MonkeyPatch
):
    # The limit that ships is as many requests as a test would have to keep open.
    monkeypatch.setattr("stead.control.engines.nats_questions.PER_OWNER", 2)
    nodes, asked, may_answer = (_node(), _node()), asyncio.Semaphore(0), asyncio.Event()

    async def answer(question: Question) -> Answer:
        asked.release()
        await may_answer.wait()
        return Answer(question.node, question.id, body=msgspec.json.encode({"items": [ITEM]}))

    sites = [await _site_on(person, node) for node in (*nodes, nodes[0])]
    others = await answering_site(stranger, {})
    async with answering(nodes[0], answer), answering(nodes[1], answer):
        waiting = [asyncio.create_task(person.session.get(f"/v1/sites/{site}/content")) for site in sites[:2]]
        async with asyncio.timeout(60):
            await asked.acquire()
            await asked.acquire()
        refused = await person.session.get(f"/v1/sites/{sites[2]}/content")
        assert (refused.status_code, code_of(refused)) == (429, "site.questions_exceeded")
        assert (await stranger.session.get(f"/v1/sites/{others}/content")).status_code == 200
        may_answer.set()
        assert [each.status_code for each in await asyncio.gather(*waiting)] == [200, 200]


async def test_a_password_is_in_the_response_and_nowhere_else(
    person: Person, caplog: pytest.LogCaptureFixture
):
    node, asked = _node(), []
    user = {"id": 7, "login": "ada", "email": "a@example.com", "display_name": "Ada", "first_name": ""}
    user |= {"last_name": "", "roles": ["editor"], "registered_at": None}

    async def answer(question: Question) -> Answer:
        asked.append(question.body.decode())
        return Answer(node, question.id, body=msgspec.json.encode(user))

    site = await _site_on(person, node)
    body = {"login": "ada", "email": "a@example.com", "role": "editor", "password_delivery": "response"}
    key = {"idempotency-key": new_id("req")}
    async with answering(node, answer):
        made = await person.session.post(f"/v1/sites/{site}/users", json=body, headers=key)
        again = await person.session.post(f"/v1/sites/{site}/users", json=body, headers=key)
        shown = await person.session.get(f"/v1/sites/{site}/users/7")
    password = made.json()["data"]["password"]
    assert len(password) >= 20
    assert again.json()["data"]["password"] == password
    assert password not in shown.text
    assert len(asked) == 2
    assert password not in "".join(asked)
    assert password not in caplog.text
    async with person.transaction() as tx:
        for table in ("audit_events", "events", "jobs", "idempotency_records"):
            rows = f"select count(*) from {table} t where position($1 in t::text) > 0"
            assert await tx.value(rows, password) == 0, table
        recorded = await tx.value("select answer from idempotency_records order by created_at desc limit 1")
        assert password.encode() not in recorded


async def test_a_node_cannot_answer_for_another(person: Person, monkeypatch: pytest.MonkeyPatch):
    # Half a second in all: there is no answer to wait for.
    monkeypatch.setattr("stead.control.engines.nats_questions.GRACE_SECONDS", -14.5)
    node, other = _node(), _node()

    async def answer(question: Question) -> Answer:
        return Answer(node, question.id, body=msgspec.json.encode({"items": [ITEM]}))

    site = await _site_on(person, node)
    async with answering(node, answer, under=other):
        refused = await person.session.get(f"/v1/sites/{site}/content")
    assert (refused.status_code, code_of(refused)) == (503, "node.unavailable")


async def test_a_silent_node_is_told_with_when_to_try_again(person: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stead.control.engines.nats_questions.GRACE_SECONDS", -14.5)
    site = await _site_on(person, _node())
    for path in ("components", "content", "users", "cron", "database"):
        refused = await person.session.get(f"/v1/sites/{site}/{path}")
        assert (refused.status_code, code_of(refused)) == (503, "node.unavailable"), path
        assert int(refused.headers["retry-after"]) > 0


async def test_an_environment_that_does_not_run_is_not_asked(person: Person):
    site = await answering_site(person, {})
    async with person.transaction() as tx:
        await tx.run("update environments set status = 'suspended' where site_id = $1", site)
    assert code_of(await person.session.get(f"/v1/sites/{site}/content")) == "environment.busy"


@pytest.mark.parametrize(
    "date", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0999-01-01T00:00:00Z"]
)
async def test_a_date_that_wordpress_cannot_store_is_refused(person: Person, date: str):
    site = await answering_site(person, {})
    refused = await person.session.post(f"/v1/sites/{site}/content", json={"title": "x", "date": date})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "date")
    at_that_time = {"hook": "x", "schedule": date}
    refused = await person.session.post(f"/v1/sites/{site}/cron", json=at_that_time)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "schedule")


async def test_a_simulated_site_is_small(person: Person):
    """Its node reads and writes all of it for each question."""
    site = await answering_site(person, {})
    path = f"/v1/sites/{site}/content"
    body = {"title": "x", "content": "y" * 400_000}
    codes = [(await person.session.post(path, json=body)).status_code for _ in range(3)]
    assert codes == [201, 201, 400]
    found = (await person.session.get(path)).json()["data"]
    assert len(found) == 3
    assert (await person.session.delete(f"{path}/{found[0]['id']}")).status_code == 204


async def test_the_documented_commands_work(person: Person, anonymous: Client):
    site = await answering_site(person, {})
    families = ("cms.plugins", "cms.content", "cms.users", "cron", "db")
    scopes = [f"{family}:{action}" for family in families for action in ("read", "write")]
    key = await person.secret(*scopes)
    responses = await run_commands(anonymous, "cms-api.md", SITE=site, STEAD_API_KEY=key)
    assert [each.status_code for each in responses] == [200, 201, 200, 201, 201, 200, 200]
    titles = [each["title"] for each in responses[2].json()["data"]]
    assert "Opening hours" in titles
    assert responses[-1].json()["data"]["applied"] is False


async def test_lists_have_pages(person: Person):
    site = await answering_site(person, {})
    path = f"/v1/sites/{site}/content"
    for number in range(5):
        await person.session.post(path, json={"title": f"Post {number}"})
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await person.session.get(path, params=query)).json()
        seen += [each["id"] for each in page["data"]]
        cursor = page["pagination"]["next_cursor"]
    assert len(seen) == len(set(seen)) == 6
    wrong = await person.session.get(f"/v1/sites/{site}/users", params={"cursor": "x"})
    assert code_of(wrong) == "request.cursor_invalid"
