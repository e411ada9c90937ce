"""Who cannot sign learns nothing and changes nothing; who can, changes only what a push may."""

import asyncio
import dataclasses
import json
import statistics
import time
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.git import hooks as pages
from stead.shared.ids import new_id
from tests.control.git import forges
from tests.control.git.conftest import Connected, commit
from tests.control.git.forges import Posted, gitea, github, github_push, gitlab, gitlab_push


def _push(site: Connected) -> dict[str, Any]:
    return github_push("refs/heads/main", commit(1), site.repository)


def _with(posted: Posted, **headers: str | None) -> Posted:
    changed = {**posted.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Posted({name: value for name, value in changed.items() if value is not None}, posted.body)


def _unsigned(posted: Posted) -> Posted:
    return _with(posted, x_hub_signature_256=None, x_gitea_signature=None, x_gitlab_token=None)


FORGERIES = {
    "no signature": lambda site: _unsigned(github(_push(site), site.secret)),
    "sha1 alone": lambda site: _with(github(_push(site), site.secret), x_hub_signature_256=None),
    "another secret": lambda site: github(_push(site), "another"),
    "an empty secret": lambda site: github(_push(site), ""),
    "an empty signature": lambda site: _with(github(_push(site), site.secret), x_hub_signature_256=""),
    "no prefix": lambda site: _with(
        (made := github(_push(site), site.secret)),
        x_hub_signature_256=made.headers["x-hub-signature-256"].removeprefix("sha256="),
    ),
    "another prefix": lambda site: _with(
        (made := github(_push(site), site.secret)),
        x_hub_signature_256=made.headers["x-hub-signature-256"].replace("sha256", "sha512"),
    ),
    "upper case": lambda site: _with(
        (made := github(_push(site), site.secret)),
        x_hub_signature_256="sha256=" + made.headers["x-hub-signature-256"][7:].upper(),
    ),
    "cut off": lambda site: _with(
        (made := github(_push(site), site.secret)),
        x_hub_signature_256=made.headers["x-hub-signature-256"][:-1],
    ),
    "of another body": lambda site: dataclasses.replace(
        github(_push(site), site.secret), body=json.dumps(_push(site)).encode() + b" "
    ),
    "gitea's with a prefix": lambda site: _with(
        (made := _unsigned(gitea(_push(site), site.secret))),
        x_gitea_signature="sha256=" + forges.signature(site.secret, made.body),
    ),
    "gitea's of another secret": lambda site: _with(
        gitea(_push(site), site.secret), x_gitea_signature="0" * 64
    ),
    "gitea's right and github's wrong": lambda site: _with(
        gitea(_push(site), site.secret), x_hub_signature_256="sha256=" + "0" * 64
    ),
    "gitlab's of another secret": lambda site: gitlab(_push(site), "another"),
    "gitlab's with a space": lambda site: gitlab(_push(site), f"{site.secret} x"),
    "gitlab's in another case": lambda site: gitlab(_push(site), site.secret.swapcase()),
    "gitlab's, the signature of nothing": lambda site: gitlab(
        _push(site), forges.signature(site.secret, b"")
    ),
    "the site's id as a secret": lambda site: github(_push(site), site.id),
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_delivery_is_refused_and_changes_nothing(site: Connected, forgery: str):
    answered = await site.post(FORGERIES[forgery](site))
    assert (answered.status_code, answered.json()["error"]["code"]) == (401, "hook.refused")
    assert await site.builds() == []
    assert await site.value("select hook_heard_at from git_connections where site_id = $1", site.id) is None


async def test_bytes_that_are_not_text_in_a_signature_are_refused(site: Connected):
    made = github(_push(site), site.secret)
    headers = [(name.encode(), value.encode()) for name, value in made.headers.items()]
    headers = [(name, b"\xff\xfe" if name == b"x-hub-signature-256" else value) for name, value in headers]
    answered = await site.forge.post(f"/hooks/git/{site.id}", content=made.body, headers=headers)
    assert answered.status_code == 401


async def test_whether_there_is_such_a_site_cannot_be_told(site: Connected, connect: Any):
    without = await connect()
    await without.run("update git_connections set hook_secret = null where site_id = $1", without.id)
    deleted = await connect(status="deleted")
    forged = github(_push(site), "another")
    answers = []
    for target in (
        *(site.id, without.id, deleted.id, new_id("site"), new_id("team"), "site_x", "a" * 2000),
        "%00",
    ):
        answered = await site.post(forged, site=target)
        body = answered.json()
        body.pop("request_id")
        varying = {"x-request-id", "date"}
        headers = {name: value for name, value in answered.headers.items() if name not in varying}
        answers.append((answered.status_code, body, headers))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == 401


async def test_an_unknown_site_takes_as_long_as_a_forged_signature(site: Connected):
    forged = github(_push(site) | {"padding": "x" * 1_000_000}, "another")
    took: dict[str, list[float]] = {site.id: [], new_id("site"): []}
    for _ in range(15):
        for target, times in took.items():
            begun = time.perf_counter()
            await site.post(forged, site=target)
            times.append(time.perf_counter() - begun)
    known, unknown = (statistics.median(times) for times in took.values())
    assert 0.4 < known / unknown < 2.5


async def test_the_secret_of_one_site_says_nothing_at_another(site: Connected, connect: Any):
    other = await connect()
    answered = await other.post(github(_push(site), site.secret))
    assert answered.status_code == 401
    assert await other.builds() == []


async def test_a_rolled_secret_is_void_at_once(site: Connected):
    before = site.secret
    await site.route(roll=True)
    assert site.secret != before
    assert (await site.post(github(_push(site), before))).status_code == 401
    assert (await site.post(github(_push(site), site.secret))).status_code == 202


async def test_routes_that_are_replaced_leave_the_secret_as_it_is(site: Connected):
    answer = await site.route(("main", "live"))
    assert "hook_secret" not in answer
    assert (await site.post(github(_push(site), site.secret))).status_code == 202


async def test_a_replayed_delivery_is_answered_the_same_and_built_once(site: Connected):
    posted = github(_push(site), site.secret)
    first, *others = [await site.post(posted) for _ in range(3)]
    assert [each.json()["data"] for each in others] == [first.json()["data"]] * 2
    assert len(await site.builds()) == 1


async def test_a_replay_under_another_delivery_id_is_still_one(site: Connected):
    """The signature covers the body alone."""
    posted = github(_push(site), site.secret)
    first = await site.post(posted)
    again = await site.post(_with(posted, x_github_delivery="another"))
    assert again.json()["data"] == first.json()["data"]
    assert len(await site.builds()) == 1


async def test_a_replay_of_an_old_push_does_not_bring_an_old_commit_back(site: Connected):
    old = site.pushed("main", 1)
    await site.post(old)
    await site.push("main", 2)
    await site.post(old)
    ((_, _, _, built),) = await site.builds()
    assert built == commit(2)


async def test_of_twenty_that_come_at_once_one_is_heard(site: Connected):
    posted = github(_push(site), site.secret)
    answers = await asyncio.gather(*(site.post(posted) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({json.dumps(answer.json()["data"]) for answer in answers}) == 1
    assert len(await site.builds()) == 1


async def test_gitlab_pushes_that_look_alike_are_two_when_it_says_so(site: Connected):
    payload = gitlab_push("refs/heads/main", commit(1), site.repository)
    for uuid in ("one", "two", "one"):
        assert (await site.post(gitlab(payload, site.secret, uuid=uuid))).status_code == 202
    assert await site.value("select serial from pushes where env_id = $1", site.env) == 2


async def test_a_body_beyond_the_bound_is_not_read(site: Connected):
    body = b'{"ref": "' + b"x" * pages.MOST_BYTES + b'"}'
    answered = await site.post(Posted(github({}, site.secret).headers, body))
    assert (answered.status_code, answered.json()["error"]["code"]) == (413, "request.too_large")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'"x"',
        b"\xff\xfe",
        b'{"ref": 1}',
        b'{"ref": "refs/heads/main"}',
        b'{"ref": "refs/heads/main", "after": null}',
        b'{"ref": "refs/heads/main", "after": ""}',
        b'{"ref": "refs/heads/main", "after": "abc"}',
        b'{"ref": "refs/heads/main", "after": "--upload-pack=id"}',
        b'{"ref": "refs/heads/main", "after": "' + b"A" * 40 + b'"}',
        b'{"ref": "refs/heads/main", "after": "' + b"a" * 41 + b'"}',
        b'{"ref": "refs/heads/main", "after": "' + b"a" * 40 + b'\\n"}',
        b'{"ref": "refs/heads/main", "after": "' + b"a" * 40 + b'", "repository": "x"}',
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 1_000_000,
        b'{"repository": {"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}",
    ],
    ids=lambda body: repr(body[:60]),
)
async def test_a_signed_body_that_is_no_push_is_refused(site: Connected, body: bytes):
    headers = github({}, site.secret).headers
    headers["x-hub-signature-256"] = f"sha256={forges.signature(site.secret, body)}"
    answered = await site.post(Posted(headers, body))
    assert (answered.status_code, answered.json()["error"]["code"]) == (400, "request.malformed")
    assert await site.builds() == []


@pytest.mark.parametrize("kind", ["text/plain", "", "application/xml", "multipart/form-data; boundary=x"])
async def test_another_content_type_is_refused(site: Connected, kind: str):
    answered = await site.post(_with(github(_push(site), site.secret), content_type=kind))
    assert answered.status_code == 400
    assert "application/json" in answered.json()["error"]["message"]


@pytest.mark.parametrize(
    "ref",
    [
        *("refs/heads/-x", "refs/heads/../../main", "refs/heads/a..b", "refs/heads/", "refs/heads/$(id)"),
        *("refs/heads/a;id", "refs/heads/main\n", "refs/heads/\u202emain", "refs/heads/" + "a" * 300),
        *("refs/tags/v1", "refs/pull/1/head", "refs/notes/x", "main", "HEAD", "", "refs/heads"),
    ],
    ids=ascii,
)
async def test_what_is_no_branch_that_we_take_is_passed_over(site: Connected, ref: str):
    await site.route(("**", "live"))
    answered = await site.post(github(github_push(ref, commit(1), site.repository), site.secret))
    assert (answered.status_code, answered.json()["data"]) == (200, {"decisions": []})
    assert await site.builds() == []


async def test_a_push_of_another_repository_is_ignored(site: Connected):
    elsewhere = github_push("refs/heads/main", commit(1), "https://git.example.com/octo/other.git")
    answered = await site.post(github(elsewhere, site.secret))
    assert answered.status_code == 202
    (decision,) = answered.json()["data"]["decisions"]
    assert (decision["target"], decision["reason"]) == ("ignore", "It is of another repository.")
    assert await site.builds() == []


async def test_nothing_of_a_payload_is_believed_but_branch_and_commit(site: Connected):
    payload = _push(site)
    payload["head_commit"]["message"] = payload["commits"][0]["message"] = "<script>alert(1)</script>"
    payload["git_repo"] = payload["site_id"] = "another"
    await site.post(github(payload, site.secret))
    said = await site.value("select author, message from builds where site_id = $1", site.id)
    assert said is None
    told = await site.events("git.push_received")
    assert "script" not in json.dumps(told)


async def test_a_flood_from_one_address_is_turned_away(
    site: Connected, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pages, "PER_ADDRESS_AND_SITE", 3)
    forged = github(_push(site), "another")
    statuses = [(await site.post(forged)).status_code for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    refused = await site.post(forged)
    assert int(refused.headers["retry-after"]) >= 1


async def test_a_site_takes_only_so_many_deliveries_a_minute(
    site: Connected, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pages, "PER_SITE", 3)
    statuses = [(await site.post(site.pushed("main", number))).status_code for number in range(5)]
    assert statuses == [202, 202, 202, 429, 429]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
async def test_only_post_is_taken(site: Connected, method: str):
    answered = await site.forge.request(method, f"/hooks/git/{site.id}")
    assert answered.status_code == 405


async def test_the_secret_and_the_private_key_are_nowhere_in_clear(site: Connected):
    await site.shown()
    async with site.plane.database.reading() as tx:
        (row,) = await tx.all(lambda *row: row, "select * from git_connections where site_id = $1", site.id)
    kept = repr(row)
    assert site.secret not in kept
    assert "PRIVATE KEY" not in kept
    assert site.secret not in json.dumps(
        await site.events("site.hook_secret_rolled", "site.branch_routes_changed")
    )
    assert "hook_secret" not in await site.shown()
