"""Repositories are asked where no hook is heard: a real git server answers, and others that are none."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from stead.control.git import poller as polling
from stead.control.git.poller import NotRead, Poller, read_branches
from stead.control.webhooks.client import HttpsClient
from stead.dev.certificate_authority import CertificateAuthority
from stead.shared.addresses import Guard
from tests.control.git.conftest import PREVIEW_DOMAIN, Connected
from tests.control.git.forges import github, github_push
from tests.git_server import GitServer, Repository
from tests.receiver import answer

LOOPBACK = (ip_network("127.0.0.0/8"),)


@dataclass
class Polled:
    """A connected site, its repository, and who asks for its branches."""

    site: Connected
    repository: Repository
    server: GitServer
    client: HttpsClient

    def poller(self) -> Poller:
        return Poller(self.site.plane.database, self.client, PREVIEW_DOMAIN, seconds=300)

    async def look(self) -> None:
        """Its time has come, and nobody else's."""
        await self.site.run("update git_connections set check_due_at = now() + interval '1 day'")
        await self.site.run(
            "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
            self.site.id,
        )
        assert await self.poller().poll() == 1


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
async def client(authority: CertificateAuthority) -> AsyncIterator[HttpsClient]:
    made = HttpsClient(Guard(LOOPBACK), context=authority.client_context(), seconds=10)
    yield made
    await made.close()


@pytest.fixture
async def server(tmp_path: Path, authority: CertificateAuthority) -> AsyncIterator[GitServer]:
    made = GitServer(tmp_path)
    async with made.open(authority.server_context(made.host)):
        yield made


@pytest.fixture
async def polled(server: GitServer, client: HttpsClient, connect: Any) -> Polled:
    repository = server.create()
    site = await connect(("feature/*", "preview"), repository=repository.url)
    return Polled(site, repository, server, client)


async def test_the_branches_of_a_real_server_are_read(server: GitServer, client: HttpsClient):
    repository = server.create()
    assert await read_branches(client, repository.url) == {}
    first = repository.commit("main")
    second = repository.commit("feature/a")
    repository.tag("v1")
    assert await read_branches(client, repository.url) == {"main": first, "feature/a": second}
    assert server.asked[-1] == "/site.git/info/refs?service=git-upload-pack"


async def test_what_was_there_before_us_is_not_news(polled: Polled):
    polled.repository.commit("main")
    polled.repository.commit("feature/a")
    await polled.look()
    assert await polled.site.builds() == []
    shown = await polled.site.shown()
    assert (shown["last_checked_at"] is not None, shown["last_error"]) == (True, None)


async def test_a_branch_that_moves_is_built_where_it_stands(polled: Polled):
    polled.repository.commit("main")
    await polled.look()
    now = polled.repository.commit("main")
    await polled.look()
    await polled.look()
    assert await polled.site.builds() == [(polled.site.env, "queued", "main", now)]


async def test_a_new_branch_gets_its_preview_and_one_that_is_gone_loses_it(polled: Polled):
    polled.repository.commit("main")
    await polled.look()
    polled.repository.commit("feature/a")
    await polled.look()
    gone = "select branch_gone_at is not null from environments where site_id = $1 and branch = 'feature/a'"
    assert await polled.site.value(gone, polled.site.id) is False
    polled.repository.delete("feature/a")
    await polled.look()
    assert await polled.site.value(gone, polled.site.id) is True
    polled.repository.commit("feature/a")
    await polled.look()
    assert await polled.site.value(gone, polled.site.id) is False


async def test_a_site_that_awaits_its_push_is_built_when_the_branch_is_there(polled: Polled):
    await polled.site.run("update sites set status = 'awaiting_push' where id = $1", polled.site.id)
    now = polled.repository.commit("main")
    await polled.look()
    assert await polled.site.builds() == [(polled.site.env, "queued", "main", now)]


async def test_what_a_hook_told_is_not_told_again(polled: Polled):
    polled.repository.commit("main")
    await polled.look()
    now = polled.repository.commit("main")
    site = polled.site
    await site.post(github(github_push("refs/heads/main", now, site.repository), site.secret))
    serial = await site.value("select serial from pushes where env_id = $1", site.env)
    await polled.look()
    assert await site.value("select serial from pushes where env_id = $1", site.env) == serial


async def test_who_has_a_hook_is_not_asked_for_a_while(polled: Polled):
    polled.repository.commit("main")
    await polled.look()
    await polled.site.run(
        "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
        polled.site.id,
    )
    await polled.site.push()
    assert await polled.poller().poll() == 0


async def test_a_hook_that_is_heard_while_we_ask_knows_better(
    polled: Polled, monkeypatch: pytest.MonkeyPatch
):
    """What we were told may be older than what the hook told meanwhile."""
    polled.repository.commit("main")
    await polled.look()
    polled.repository.commit("main")
    newest = ""

    async def slow(client: HttpsClient, url: str) -> dict[str, str]:
        nonlocal newest
        refs = await read_branches(client, url)
        newest = polled.repository.commit("main")
        site = polled.site
        posted = github(github_push("refs/heads/main", newest, site.repository), site.secret)
        assert (await site.post(posted)).status_code == 202
        return refs

    monkeypatch.setattr(polling, "read_branches", slow)
    await polled.look()
    assert await polled.site.builds() == [(polled.site.env, "queued", "main", newest)]


async def test_ten_workers_ask_once(polled: Polled):
    polled.repository.commit("main")
    await polled.site.run("update git_connections set check_due_at = now() + interval '1 day'")
    await polled.site.run(
        "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
        polled.site.id,
    )
    counts = await asyncio.gather(*(polled.poller().poll() for _ in range(10)))
    assert sum(counts) == 1
    assert len(polled.server.asked) == 1


@pytest.mark.parametrize("status", ["deleted", "deleting", "failed", "provisioning"])
async def test_a_site_that_is_not_up_is_not_asked_for(polled: Polled, status: str):
    await polled.site.run("update sites set status = $2 where id = $1", polled.site.id, status)
    await polled.site.run("update git_connections set check_due_at = now() + interval '1 day'")
    await polled.site.run(
        "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
        polled.site.id,
    )
    assert await polled.poller().poll() == 0


async def test_a_site_that_nobody_has_thought_of_is_met(connect: Any, client: HttpsClient, server: GitServer):
    repository = server.create()
    site = await connect(repository=repository.url)
    await site.run("delete from git_connections where site_id = $1", site.id)
    await site.run("update git_connections set check_due_at = now() + interval '1 day'")
    await Poller(site.plane.database, client, PREVIEW_DOMAIN, seconds=0.001).poll()
    assert await site.value("select count(*) from git_connections where site_id = $1", site.id) == 1


ANSWERS = {
    "a redirect": (answer(302, location="https://169.254.169.254/latest/meta-data"), "redirect"),
    "a redirect for good": (answer(301, location="http://127.0.0.1:22/"), "redirect"),
    "a login": (answer(401, www_authenticate="Basic"), "private"),
    "no entry": (answer(403), "may not be read"),
    "nothing there": (answer(404), "no such repository"),
    "a fault": (answer(500), "answered 500"),
    "a page": (answer(200, b"<html></html>"), "smart HTTP"),
    "the dumb protocol": (answer(200, b"a" * 40 + b"\trefs/heads/main\n"), "smart HTTP"),
    "too much": (answer(200, b"0" * (polling.MOST_BYTES + 1)), "too long"),
    "an end before its time": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n001e# service=git-upload-pack",
        "cut off",
    ),
    "no HTTP": (b"hello\r\n\r\n", "not HTTP"),
    "nothing": (b"", "closed"),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_an_answer_that_is_none_is_told_in_short(polled: Polled, case: str):
    polled.server.says, expected = ANSWERS[case]
    await polled.look()
    shown = await polled.site.shown()
    assert expected in shown["last_error"]
    assert len(shown["last_error"]) < 200
    assert await polled.site.builds() == []
    polled.server.says = None
    polled.repository.commit("main")
    await polled.look()
    assert (await polled.site.shown())["last_error"] is None


async def test_after_three_failures_the_owner_is_told_once_and_it_is_asked_less_often(polled: Polled):
    polled.server.says = answer(404)
    for _ in range(5):
        await polled.look()
    (told,) = await polled.site.events("git.unreachable")
    assert "no such repository" in told["reason"]
    until = await polled.site.value(
        "select extract(epoch from check_due_at - now()) from git_connections where site_id = $1",
        polled.site.id,
    )
    assert until > 300 * 0.9 * 12 - 60


@pytest.mark.parametrize(
    "url",
    [
        *("https://127.0.0.1/x.git", "https://169.254.169.254/x.git", "https://10.0.0.1/x.git"),
        *("https://[::1]/x.git", "https://[::ffff:127.0.0.1]/x.git", "https://100.64.0.1/x.git"),
        *("https://192.168.1.1:3000/x.git", "https://localhost.localdomain/x.git"),
    ],
)
async def test_no_address_that_is_not_public_is_dialled(url: str, authority: CertificateAuthority):
    client = HttpsClient(Guard(), context=authority.client_context(), seconds=5)
    try:
        with pytest.raises(NotRead, match=r"not public|not be resolved"):
            await read_branches(client, url)
    finally:
        await client.close()


@pytest.mark.parametrize(
    "url",
    ["git@git.example.com:o/x.git", "ssh://git@git.example.com/x.git", "file:///etc/passwd", "https://a/x"],
)
async def test_nothing_but_https_is_asked(url: str, client: HttpsClient):
    with pytest.raises(NotRead):
        await read_branches(client, url)


async def test_a_certificate_of_nobody_is_not_believed(server: GitServer):
    stranger = HttpsClient(Guard(LOOPBACK), seconds=10)
    try:
        with pytest.raises(NotRead, match="TLS"):
            await read_branches(stranger, server.create().url)
    finally:
        await stranger.close()


async def test_a_server_that_says_nothing_is_given_up(authority: CertificateAuthority, tmp_path: Path):
    silent = await asyncio.start_server(
        lambda *_: asyncio.sleep(30), "127.0.0.1", 0, ssl=authority.server_context("127.0.0.1")
    )
    port = silent.sockets[0].getsockname()[1]
    client = HttpsClient(Guard(LOOPBACK), context=authority.client_context(), seconds=0.5)
    try:
        with pytest.raises(NotRead, match="in time"):
            await read_branches(client, f"https://127.0.0.1:{port}/x.git")
    finally:
        silent.close()
        await client.close()
