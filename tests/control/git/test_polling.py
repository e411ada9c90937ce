"""Repositories without hooks are polled: a real git server, and servers with invalid responses."""

import asyncio
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from stead.control.accounts.administration import set_suspension
from stead.control.git import poller
from stead.control.git.poller import Poller, RepositoryUnreadable, fetch_branches
from stead.control.git.ref_advertisement import MAX_BYTES
from stead.control.jobs.definition import Refused
from stead.control.webhooks.client import HttpsClient
from stead.dev.certificate_authority import CertificateAuthority
from stead.shared.address_policy import AddressPolicy
from tests.control.git.conftest import PREVIEW_DOMAIN, ConnectedSite
from tests.control.git.forges import github, github_push
from tests.git_server import GitServer, Repository
from tests.receiver import http_response

LOOPBACK = (ip_network("127.0.0.0/8"),)


@dataclass
class PolledSite:
    """A connected site, its repository, and the client that polls it."""

    site: ConnectedSite
    repository: Repository
    server: GitServer
    client: HttpsClient

    def create_poller(self) -> Poller:
        ports = frozenset({self.server.port})
        return Poller(self.site.plane.database, self.client, PREVIEW_DOMAIN, seconds=300, extra_ports=ports)

    async def poll(self) -> None:
        """Poll this repository only."""
        await self.site.run("update git_connections set check_due_at = now() + interval '1 day'")
        await self.site.run(
            "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
            self.site.id,
        )
        assert await self.create_poller().poll() == 1


@pytest.fixture
async def polled(server: GitServer, client: HttpsClient, connect: Any) -> PolledSite:
    repository = server.create()
    site = await connect(("feature/*", "preview"), repository=repository.url)
    return PolledSite(site, repository, server, client)


async def test_the_branches_of_a_real_server_are_fetched(server: GitServer, client: HttpsClient):
    repository = server.create()
    assert await fetch_branches(client, repository.url) == {}
    first = repository.commit("main")
    second = repository.commit("feature/a")
    repository.tag("v1")
    assert await fetch_branches(client, repository.url) == {"main": first, "feature/a": second}
    assert server.requests[-1] == "/site.git/info/refs?service=git-upload-pack"


async def test_branches_found_by_the_first_poll_are_not_built(polled: PolledSite):
    polled.repository.commit("main")
    polled.repository.commit("feature/a")
    await polled.poll()
    assert await polled.site.builds() == []
    routes = await polled.site.get_routes()
    assert (routes["last_checked_at"] is not None, routes["last_error"]) == (True, None)


async def test_a_branch_that_moves_is_built_at_its_new_head(polled: PolledSite):
    polled.repository.commit("main")
    await polled.poll()
    now = polled.repository.commit("main")
    await polled.poll()
    await polled.poll()
    assert await polled.site.builds() == [(polled.site.env, "queued", "main", now)]


async def test_a_new_branch_gets_a_preview_and_a_deleted_one_loses_it(polled: PolledSite):
    polled.repository.commit("main")
    await polled.poll()
    polled.repository.commit("feature/a")
    await polled.poll()
    is_gone = (
        "select branch_gone_at is not null from environments where site_id = $1 and branch = 'feature/a'"
    )
    assert await polled.site.value(is_gone, polled.site.id) is False
    polled.repository.delete("feature/a")
    await polled.poll()
    assert await polled.site.value(is_gone, polled.site.id) is True
    polled.repository.commit("feature/a")
    await polled.poll()
    assert await polled.site.value(is_gone, polled.site.id) is False


async def test_a_site_that_awaits_a_push_is_built_when_the_branch_exists(polled: PolledSite):
    await polled.site.run("update sites set status = 'awaiting_push' where id = $1", polled.site.id)
    now = polled.repository.commit("main")
    await polled.poll()
    assert await polled.site.builds() == [(polled.site.env, "queued", "main", now)]


async def test_a_push_reported_by_a_hook_is_not_received_again(polled: PolledSite):
    polled.repository.commit("main")
    await polled.poll()
    now = polled.repository.commit("main")
    site = polled.site
    await site.post(github(github_push("refs/heads/main", now, site.repository), site.secret))
    serial = await site.value("select serial from pushes where env_id = $1", site.env)
    await polled.poll()
    assert await site.value("select serial from pushes where env_id = $1", site.env) == serial


async def test_a_repository_is_not_polled_for_a_while_after_a_hook(polled: PolledSite):
    polled.repository.commit("main")
    await polled.poll()
    await polled.site.run(
        "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
        polled.site.id,
    )
    await polled.site.push()
    assert await polled.create_poller().poll() == 0


async def test_a_hook_during_a_poll_takes_precedence(polled: PolledSite, monkeypatch: pytest.MonkeyPatch):
    """The result of the poll may be older than what the hook reported."""
    polled.repository.commit("main")
    await polled.poll()
    polled.repository.commit("main")
    newest = ""

    async def fetch_slowly(client: HttpsClient, url: str) -> dict[str, str]:
        nonlocal newest
        refs = await fetch_branches(client, url)
        newest = polled.repository.commit("main")
        site = polled.site
        posted = github(github_push("refs/heads/main", newest, site.repository), site.secret)
        assert (await site.post(posted)).status_code == 202
        return refs

    monkeypatch.setattr(poller, "fetch_branches", fetch_slowly)
    await polled.poll()
    assert await polled.site.builds() == [(polled.site.env, "queued", "main", newest)]


async def test_ten_workers_poll_a_repository_once(polled: PolledSite):
    polled.repository.commit("main")
    await polled.site.run("update git_connections set check_due_at = now() + interval '1 day'")
    await polled.site.run(
        "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
        polled.site.id,
    )
    counts = await asyncio.gather(*(polled.create_poller().poll() for _ in range(10)))
    assert sum(counts) == 1
    assert len(polled.server.requests) == 1


@pytest.mark.parametrize("status", ["deleted", "deleting", "failed", "provisioning"])
async def test_a_site_that_is_not_running_is_not_polled(polled: PolledSite, status: str):
    await polled.site.run("update sites set status = $2 where id = $1", polled.site.id, status)
    await polled.site.run("update git_connections set check_due_at = now() + interval '1 day'")
    await polled.site.run(
        "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
        polled.site.id,
    )
    assert await polled.create_poller().poll() == 0


async def test_nothing_is_built_for_a_suspended_account(polled: PolledSite):
    site = polled.site
    job = (await site.push())["job_id"]
    await site.run("update jobs set dispatched_at = now() where id = $1", job)
    async with site.plane.database.transaction() as tx:
        await set_suspension(tx, site.person.id, "It computes coins.")
    cancelled = "select cancel_requested_at is not null from jobs where id = $1"
    assert await site.value(cancelled, job), "what is under way is cancelled"
    with pytest.raises(Refused) as refused:
        await site.begin_build(job)
    assert refused.value.code == "auth.account_suspended"

    assert (await site.post(site.build_delivery("main", 3))).status_code == 401
    await site.run("update git_connections set check_due_at = now() + interval '1 day'")
    due = "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1"
    await site.run(due, site.id)
    assert await polled.create_poller().poll() == 0

    async with site.plane.database.transaction() as tx:
        await set_suspension(tx, site.person.id, None)
    assert await polled.create_poller().poll() == 1
    assert (await site.post(site.build_delivery("main", 3))).status_code == 202


async def test_a_site_without_a_connection_gets_one(connect: Any, client: HttpsClient, server: GitServer):
    repository = server.create()
    site = await connect(repository=repository.url)
    await site.run("delete from git_connections where site_id = $1", site.id)
    await site.run("update git_connections set check_due_at = now() + interval '1 day'")
    await Poller(site.plane.database, client, PREVIEW_DOMAIN, seconds=0.001).poll()
    assert await site.value("select count(*) from git_connections where site_id = $1", site.id) == 1


async def test_a_repository_on_another_port_is_not_polled(polled: PolledSite):
    """Neither 443 nor 22, and not allowed by the operator."""
    await polled.site.run("update git_connections set check_due_at = now() + interval '1 day'")
    await polled.site.run(
        "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1",
        polled.site.id,
    )
    poller = Poller(polled.site.plane.database, polled.client, PREVIEW_DOMAIN, seconds=300)
    assert await poller.poll() == 1
    assert "port" in (await polled.site.get_routes())["last_error"]
    assert polled.server.requests == []


RESPONSES = {
    "a redirect": (http_response(302, location="https://169.254.169.254/latest/meta-data"), "redirect"),
    "a permanent redirect": (http_response(301, location="http://127.0.0.1:22/"), "redirect"),
    "a login": (http_response(401, www_authenticate="Basic"), "private"),
    "forbidden": (http_response(403), "may not be read"),
    "not found": (http_response(404), "no such repository"),
    "a server error": (http_response(500), "answered 500"),
    "a web page": (http_response(200, b"<html></html>"), "smart HTTP"),
    "the dumb protocol": (http_response(200, b"a" * 40 + b"\trefs/heads/main\n"), "smart HTTP"),
    "a response that is too long": (http_response(200, b"0" * (MAX_BYTES + 1)), "too long"),
    "a truncated response": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n001e# service=git-upload-pack",
        "cut off",
    ),
    "a response that is not HTTP": (b"hello\r\n\r\n", "not HTTP"),
    "an empty response": (b"", "closed"),
}


@pytest.mark.parametrize("case", RESPONSES)
async def test_an_invalid_response_is_reported_briefly(polled: PolledSite, case: str):
    polled.server.response, expected = RESPONSES[case]
    await polled.poll()
    routes = await polled.site.get_routes()
    assert expected in routes["last_error"]
    assert len(routes["last_error"]) < 200
    assert await polled.site.builds() == []
    polled.server.response = None
    polled.repository.commit("main")
    await polled.poll()
    assert (await polled.site.get_routes())["last_error"] is None


async def test_after_three_failures_one_event_is_published_and_polling_slows_down(polled: PolledSite):
    polled.server.response = http_response(404)
    for _ in range(5):
        await polled.poll()
    (event,) = await polled.site.events("git.unreachable")
    assert "no such repository" in event["reason"]
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
async def test_private_addresses_are_not_contacted(url: str, authority: CertificateAuthority):
    client = HttpsClient(AddressPolicy(), context=authority.client_context(), seconds=5)
    try:
        with pytest.raises(RepositoryUnreadable, match=r"not public|not be resolved"):
            await fetch_branches(client, url)
    finally:
        await client.close()


@pytest.mark.parametrize(
    "url",
    ["git@git.example.com:o/x.git", "ssh://git@git.example.com/x.git", "file:///etc/passwd", "https://a/x"],
)
async def test_only_https_repositories_are_polled(url: str, client: HttpsClient):
    with pytest.raises(RepositoryUnreadable):
        await fetch_branches(client, url)


async def test_an_untrusted_certificate_is_refused(server: GitServer):
    untrusting = HttpsClient(AddressPolicy(LOOPBACK), seconds=10)
    try:
        with pytest.raises(RepositoryUnreadable, match="TLS"):
            await fetch_branches(untrusting, server.create().url)
    finally:
        await untrusting.close()


async def test_a_server_that_does_not_respond_times_out(authority: CertificateAuthority, tmp_path: Path):
    silent = await asyncio.start_server(
        lambda *_: asyncio.sleep(30), "127.0.0.1", 0, ssl=authority.server_context("127.0.0.1")
    )
    port = silent.sockets[0].getsockname()[1]
    client = HttpsClient(AddressPolicy(LOOPBACK), context=authority.client_context(), seconds=0.5)
    try:
        with pytest.raises(RepositoryUnreadable, match="in time"):
            await fetch_branches(client, f"https://127.0.0.1:{port}/x.git")
    finally:
        silent.close()
        await client.close()
