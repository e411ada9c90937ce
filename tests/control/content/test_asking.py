"""The API asks a site: what it does when the site or its node lies, is silent or slow."""

import asyncio
from typing import Any

import msgspec
import pytest

from stead.protocol import questions as protocol
from stead.protocol.questions import Answer, Question
from stead.shared.ids import new_id
from tests.answering_node import answering, answering_site, place_on_answering_node
from tests.client import code_of
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
