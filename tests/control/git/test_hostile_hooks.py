"""Deliveries without a valid signature reveal and change nothing; signed ones change only what a push may."""

import asyncio
import dataclasses
import json
import statistics
import time
from datetime import timedelta
from typing import Any

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.git import commit_store, hooks, replays, store
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from tests.control.git import forges
from tests.control.git.conftest import ConnectedSite, commit
from tests.control.git.forges import ZEROS, DeliveryRequest, gitea, github, github_push, gitlab, gitlab_push


def _push(site: ConnectedSite) -> dict[str, Any]:
    return github_push("refs/heads/main", commit(1), site.repository)


def _with(posted: DeliveryRequest, **headers: str | None) -> DeliveryRequest:
    changed = {**posted.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return DeliveryRequest({name: value for name, value in changed.items() if value is not None}, posted.body)


def _unsigned(posted: DeliveryRequest) -> DeliveryRequest:
    return _with(posted, x_hub_signature_256=None, x_gitea_signature=None, x_gitlab_token=None)


FORGERIES = {
    "no signature": lambda site: _unsigned(github(_push(site), site.secret)),
    "sha1 alone": lambda site: _with(github(_push(site), site.secret), x_hub_signature_256=None),
    "another secret": lambda site: github(_push(site), "another"),
    "an empty secret": lambda site: github(_push(site), ""),
    "an empty signature": lambda site: _with(github(_push(site), site.secret), x_hub_signature_256=""),
    "no prefix": lambda site: _with(
        (signed := github(_push(site), site.secret)),
        x_hub_signature_256=signed.headers["x-hub-signature-256"].removeprefix("sha256="),
    ),
    "another prefix": lambda site: _with(
        (signed := github(_push(site), site.secret)),
        x_hub_signature_256=signed.headers["x-hub-signature-256"].replace("sha256", "sha512"),
    ),
    "upper case": lambda site: _with(
        (signed := github(_push(site), site.secret)),
        x_hub_signature_256="sha256=" + signed.headers["x-hub-signature-256"][7:].upper(),
    ),
    "cut off": lambda site: _with(
        (signed := github(_push(site), site.secret)),
        x_hub_signature_256=signed.headers["x-hub-signature-256"][:-1],
    ),
    "of another body": lambda site: dataclasses.replace(
        github(_push(site), site.secret), body=json.dumps(_push(site)).encode() + b" "
    ),
    "gitea's with a prefix": lambda site: _with(
        (signed := _unsigned(gitea(_push(site), site.secret))),
        x_gitea_signature="sha256=" + forges.signature(site.secret, signed.body),
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
async def test_a_forged_delivery_is_refused_and_changes_nothing(site: ConnectedSite, forgery: str):
    answered = await site.post(FORGERIES[forgery](site))
    assert (answered.status_code, answered.json()["error"]["code"]) == (401, "hook.refused")
    assert await site.builds() == []
    assert await site.value("select hook_heard_at from git_connections where site_id = $1", site.id) is None


async def test_a_signature_of_invalid_bytes_is_refused(site: ConnectedSite):
    signed = github(_push(site), site.secret)
    headers = [(name.encode(), value.encode()) for name, value in signed.headers.items()]
    headers = [(name, b"\xff\xfe" if name == b"x-hub-signature-256" else value) for name, value in headers]
    answered = await site.forge.post(f"/hooks/git/{site.id}", content=signed.body, headers=headers)
    assert answered.status_code == 401


async def test_responses_do_not_reveal_whether_a_site_exists(site: ConnectedSite, connect: Any):
    without_secret = await connect()
    await without_secret.run(
        "update git_connections set hook_secret = null where site_id = $1", without_secret.id
    )
    deleted = await connect(status="deleted")
    forged = github(_push(site), "another")
    answers = []
    for target in (
        *(site.id, without_secret.id, deleted.id, new_id("site"), new_id("team"), "site_x", "a" * 2000),
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


async def test_an_unknown_site_takes_as_long_as_a_forged_signature(site: ConnectedSite):
    forged = github(_push(site) | {"padding": "x" * 1_000_000}, "another")
    durations: dict[str, list[float]] = {site.id: [], new_id("site"): []}
    for _ in range(15):
        for target, times in durations.items():
            started = time.perf_counter()
            await site.post(forged, site=target)
            times.append(time.perf_counter() - started)
    known, unknown = (statistics.median(times) for times in durations.values())
    assert 0.4 < known / unknown < 2.5


async def test_the_secret_of_one_site_is_refused_at_another(site: ConnectedSite, connect: Any):
    other = await connect()
    answered = await other.post(github(_push(site), site.secret))
    assert answered.status_code == 401
    assert await other.builds() == []


async def test_the_old_secret_stops_working_immediately_when_it_is_rolled(site: ConnectedSite):
    before = site.secret
    await site.route(roll=True)
    assert site.secret != before
    assert (await site.post(github(_push(site), before))).status_code == 401
    assert (await site.post(github(_push(site), site.secret))).status_code == 202


async def test_replacing_routes_does_not_change_the_secret(site: ConnectedSite):
    answer = await site.route(("main", "live"))
    assert "hook_secret" not in answer
    assert (await site.post(github(_push(site), site.secret))).status_code == 202


async def test_a_replayed_delivery_gets_the_same_answer_and_is_built_once(site: ConnectedSite):
    posted = github(_push(site), site.secret)
    first, *others = [await site.post(posted) for _ in range(3)]
    assert [each.json()["data"] for each in others] == [first.json()["data"]] * 2
    assert len(await site.builds()) == 1


async def test_a_replay_with_another_delivery_id_is_recognized(site: ConnectedSite):
    """The signature covers only the body."""
    posted = github(_push(site), site.secret)
    first = await site.post(posted)
    again = await site.post(_with(posted, x_github_delivery="another"))
    assert again.json()["data"] == first.json()["data"]
    assert len(await site.builds()) == 1


async def test_a_replay_of_an_old_push_does_not_build_the_old_commit(site: ConnectedSite):
    old = site.build_delivery("main", 1)
    await site.post(old)
    await site.push("main", 2)
    await site.post(old)
    ((_, _, _, built),) = await site.builds()
    assert built == commit(2)


async def test_of_twenty_simultaneous_copies_one_is_handled(site: ConnectedSite):
    posted = github(_push(site), site.secret)
    answers = await asyncio.gather(*(site.post(posted) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({json.dumps(answer.json()["data"]) for answer in answers}) == 1
    assert len(await site.builds()) == 1


async def test_a_branch_that_is_moved_back_and_forth_is_pushed_every_time(site: ConnectedSite):
    """GitLab reports the first and the third of these pushes with identical payloads."""
    for number, (before, after) in enumerate([(1, 2), (2, 1), (1, 2)]):
        payload = gitlab_push("refs/heads/main", commit(after), site.repository) | {"before": commit(before)}
        answered = await site.post(gitlab(payload, site.secret, uuid=str(number)))
        assert answered.status_code == 202
    assert await site.value("select serial from pushes where env_id = $1", site.env) == 3


async def test_a_gitlab_payload_that_is_replayed_with_another_id_has_no_effect(site: ConnectedSite):
    payload = gitlab_push("refs/heads/main", commit(1), site.repository)
    for uuid in ("one", "two", "one"):
        assert (await site.post(gitlab(payload, site.secret, uuid=uuid))).status_code == 202
    assert await site.value("select serial from pushes where env_id = $1", site.env) == 1


def _moves(site: ConnectedSite, before: int, after: int, **repository: object) -> DeliveryRequest:
    """A delivery of GitHub for a push from one commit to another."""
    payload = github_push("refs/heads/main", commit(after), site.repository) | {"before": commit(before)}
    return github(payload | {"repository": payload["repository"] | repository}, site.secret)


async def _forget_deliveries(site: ConnectedSite) -> None:
    await site.run("delete from hook_deliveries where site_id = $1", site.id)


async def _newest(site: ConnectedSite) -> str:
    return str(await site.value("select commit from pushes where env_id = $1", site.env))


async def test_a_replay_that_was_forgotten_does_not_bring_an_old_commit_back(site: ConnectedSite):
    old = _moves(site, 0, 1)
    for delivery in (old, _moves(site, 1, 2), _moves(site, 2, 3)):
        await site.post(delivery)
    await _forget_deliveries(site)
    heard = (await site.get_routes())["last_hook_at"]
    (decision,) = (await site.post(old)).json()["data"]["decisions"]
    assert decision["reason"] == replays.NOT_NEWER
    assert await _newest(site) == commit(3)
    assert (await site.get_routes())["last_hook_at"] == heard


async def test_a_replayed_deletion_does_not_destroy_the_environment_of_a_branch(connect: Any):
    site = await connect(("feature/*", "preview"))
    deletion = github_push("refs/heads/feature/a", ZEROS, site.repository) | {"before": commit(1)}
    env = (await site.push("feature/a", 1))["env_id"]
    await site.post(github(deletion, site.secret))
    await site.push("feature/a", 2)
    await _forget_deliveries(site)
    await site.post(github(deletion, site.secret))
    assert await site.value("select branch_gone_at from environments where id = $1", env) is None


async def test_a_commit_between_two_reported_heads_is_not_newer(site: ConnectedSite):
    """The delivery from 1 to 2 was held back; that from 1 to 3 lists both commits."""
    listed = github_push("refs/heads/main", commit(3), site.repository) | {
        "before": commit(1),
        "commits": [{"id": commit(2)}, {"id": commit(3)}],
    }
    await site.post(github(listed, site.secret))
    (decision,) = (await site.post(_moves(site, 1, 2))).json()["data"]["decisions"]
    assert decision["reason"] == replays.NOT_NEWER
    assert await _newest(site) == commit(3)


@pytest.mark.parametrize(
    ("minutes", "before", "reason"),
    [
        (4, 7, None),
        (6, 7, replays.MOVED_SINCE),
        (6, 1, None),
        (31 * 24 * 60, 1, replays.TOO_OLD),
    ],
)
async def test_a_delayed_delivery_counts_only_if_the_branch_has_not_moved(
    site: ConnectedSite, minutes: int, before: int, reason: str | None
):
    await site.post(_moves(site, 0, 1))
    pushed_at = int(site.plane.database._clock().timestamp()) - minutes * 60
    answered = await site.post(_moves(site, before, 8, pushed_at=pushed_at))
    (decision,) = answered.json()["data"]["decisions"]
    assert await _newest(site) == commit(1 if reason else 8)
    assert reason is None or decision["reason"] == reason


async def test_a_site_remembers_a_limited_number_of_commits(
    site: ConnectedSite, monkeypatch: pytest.MonkeyPatch, clock: MovableClock
):
    # The number that ships would need as many deliveries.
    monkeypatch.setattr(commit_store, "MAX_COMMITS", 5)
    for number in range(10):
        clock.ahead += timedelta(seconds=1)
        await site.post(_moves(site, number, number + 1))
    kept = await site.value("select count(*) from branch_commits where site_id = $1", site.id)
    assert kept <= 7


async def test_a_body_that_is_too_large_is_refused(site: ConnectedSite):
    body = b'{"ref": "' + b"x" * hooks.MAX_BYTES + b'"}'
    answered = await site.post(DeliveryRequest(github({}, site.secret).headers, body))
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
async def test_a_signed_body_that_is_not_a_push_is_refused(site: ConnectedSite, body: bytes):
    headers = github({}, site.secret).headers
    headers["x-hub-signature-256"] = f"sha256={forges.signature(site.secret, body)}"
    answered = await site.post(DeliveryRequest(headers, body))
    assert (answered.status_code, answered.json()["error"]["code"]) == (400, "request.malformed")
    assert await site.builds() == []


@pytest.mark.parametrize("kind", ["text/plain", "", "application/xml", "multipart/form-data; boundary=x"])
async def test_another_content_type_is_refused(site: ConnectedSite, kind: str):
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
async def test_refs_that_are_not_accepted_branches_are_ignored(site: ConnectedSite, ref: str):
    await site.route(("**", "live"))
    answered = await site.post(github(github_push(ref, commit(1), site.repository), site.secret))
    assert (answered.status_code, answered.json()["data"]) == (200, {"decisions": []})
    assert await site.builds() == []


async def test_a_push_to_another_repository_is_ignored(site: ConnectedSite):
    elsewhere = github_push("refs/heads/main", commit(1), "https://git.example.com/octo/other.git")
    answered = await site.post(github(elsewhere, site.secret))
    assert answered.status_code == 202
    (decision,) = answered.json()["data"]["decisions"]
    assert (decision["target"], decision["reason"]) == ("ignore", "The push is for another repository.")
    assert await site.builds() == []


async def test_only_the_branch_and_the_commit_of_a_payload_are_used(site: ConnectedSite):
    payload = _push(site)
    payload["head_commit"]["message"] = payload["commits"][0]["message"] = "<script>alert(1)</script>"
    payload["git_repo"] = payload["site_id"] = "another"
    await site.post(github(payload, site.secret))
    author = await site.value("select author, message from builds where site_id = $1", site.id)
    assert author is None
    events = await site.events("git.push_received")
    assert "script" not in json.dumps(events)


async def test_deliveries_from_one_address_are_rate_limited(
    site: ConnectedSite, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
):
    # The shape of the limit; the one that ships would need hundreds of deliveries.
    monkeypatch.setattr(hooks, "PER_ADDRESS_AND_SITE", 3)
    forged = github(_push(site), "another")
    statuses = [(await site.post(forged)).status_code for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    refused = await site.post(forged)
    assert int(refused.headers["retry-after"]) >= 1


async def test_addresses_of_one_ipv6_network_share_their_limit(
    site: ConnectedSite, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
):
    """A client usually has a whole network, and could use another address for every request."""
    monkeypatch.setattr(hooks, "PER_ADDRESS_AND_SITE", 3)

    async def post(address: str) -> int:
        transport = httpx.ASGITransport(plane, client=(address, 1))
        forged = github(_push(site), "another")
        async with httpx.AsyncClient(transport=transport, base_url="http://stead") as client:
            sent = await client.post(f"/hooks/git/{site.id}", content=forged.body, headers=forged.headers)
        return sent.status_code

    statuses = [await post(f"2001:db8:0:1::{number}") for number in range(1, 6)]
    assert statuses == [401, 401, 401, 429, 429]
    assert await post("2001:db8:0:2::1") == 401


async def test_deliveries_to_one_site_are_rate_limited(site: ConnectedSite, monkeypatch: pytest.MonkeyPatch):
    # The shape of the limit; the one that ships would need a hundred pushes.
    monkeypatch.setattr(hooks, "PER_SITE", 3)
    statuses = [(await site.post(site.build_delivery("main", number))).status_code for number in range(5)]
    assert statuses == [202, 202, 202, 429, 429]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
async def test_only_post_is_allowed(site: ConnectedSite, method: str):
    answered = await site.forge.request(method, f"/hooks/git/{site.id}")
    assert answered.status_code == 405


async def test_the_secret_and_the_private_key_are_not_stored_in_plain_text(site: ConnectedSite):
    await site.get_routes()
    async with site.plane.database.reading() as tx:
        (row,) = await tx.all(lambda *row: row, "select * from git_connections where site_id = $1", site.id)
    stored = repr(row)
    assert site.secret not in stored
    assert "PRIVATE KEY" not in stored
    assert site.secret not in json.dumps(
        await site.events("site.hook_secret_rolled", "site.branch_routes_changed")
    )
    assert "hook_secret" not in await site.get_routes()


async def test_hooks_make_the_list_of_branches_no_longer_than_polls_do(
    site: ConnectedSite, monkeypatch: pytest.MonkeyPatch
):
    # The number that ships would need as many deliveries.
    monkeypatch.setattr(store, "MAX_BRANCHES", 2)
    await site.run("update git_connections set refs = '{}' where site_id = $1", site.id)
    for number, branch in enumerate(["one", "two", "three", "one"]):
        await site.push(branch, number)
    refs = await site.value("select refs from git_connections where site_id = $1", site.id)
    assert refs == {"one": commit(3), "two": commit(1)}
