"""What restic does through the gateway, and what the gateway refuses."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from stead.repositories.budgets import KEEP_SECONDS, LEAST_COST, BudgetExhausted, ByteBudgets
from stead.shared.ids import new_id
from stead.shared.repository_layout import RepositoryFile
from stead.shared.repository_tokens import RepositoryToken, repository_url, sign
from tests.repositories.site_backups import BackedUpSite, Gateway

MEGABYTE = 1024 * 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Something to back up: files that do not repeat, and a few directories."""
    place = tmp_path / "files"
    place.mkdir()
    for number in range(6):
        inner = place / f"folder {number}"
        inner.mkdir()
        (inner / "large.bin").write_bytes(os.urandom(4 * MEGABYTE))
        (inner / "small.txt").write_text(f"{number}\n" * 20)
    return place


@pytest.fixture
async def site(gateway: Gateway) -> BackedUpSite:
    return await gateway.new_site()


def checksums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def named(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_restic_backs_up_restores_and_checks_through_the_gateway(
    site: BackedUpSite, folder: Path, tmp_path: Path
):
    await site.back_up(folder)
    (folder / "folder 1" / "small.txt").write_text("changed\n")
    await site.back_up(folder)
    target = tmp_path / "restored"
    await site.restore(target)
    assert checksums(target) == checksums(folder)
    completed = await site.restic("check", "--read-data", url=site.gateway.token(site.id, "read"))
    assert completed.code == 0, completed.errors
    # The worker reads the same repository in the object store, without the gateway.
    assert len(await site.repository.list_snapshots()) == 2
    await site.repository.check("100%")


async def test_creating_a_repository_can_be_repeated_and_finishes_what_was_interrupted(gateway: Gateway):
    site = await gateway.new_site()
    await site.repository.create()
    assert await site.repository.list_snapshots() == []
    # Killed after the key was stored: another key with the same password would open, and decrypt nothing.
    await gateway.store.objects().delete([RepositoryFile("config").key(site.id)])
    await site.repository.create()
    assert await site.repository.list_snapshots() == []


async def test_nothing_can_be_deleted(site: BackedUpSite, folder: Path):
    await site.back_up(folder)
    before = await site.repository.list_snapshots()
    url = site.gateway.token(site.id)
    async with httpx.AsyncClient() as client:
        for kind in ("data", "index", "snapshots", "keys"):
            for each in (await client.get(f"{url}{kind}/")).json():
                assert (await client.delete(f"{url}{kind}/{each['name']}")).status_code == 403
        for path in ("config", "", "data/", "snapshots/"):
            assert (await client.delete(f"{url}{path}")).status_code == 403
    for words in (("forget", before[0].id), ("key", "remove", "0000")):
        assert (await site.restic(*words, seconds=10)).code != 0
    assert await site.repository.list_snapshots() == before
    await site.repository.check("100%")


async def test_nothing_can_be_replaced(site: BackedUpSite, folder: Path):
    await site.back_up(folder)
    url, objects = site.gateway.token(site.id), site.gateway.store.objects()
    async with httpx.AsyncClient() as client:
        name = (await client.get(f"{url}data/")).json()[0]["name"]
        key = RepositoryFile("data", name).key(site.id)
        before = await objects.inspect(key)
        assert (await client.post(f"{url}data/{name}", content=b"other")).status_code == 400
        # The same file again is accepted, because restic repeats requests, but it is not written again.
        content = (await client.get(f"{url}data/{name}")).content
        assert (await client.post(f"{url}data/{name}", content=content)).status_code == 200
        assert await objects.inspect(key) == before
        for path in ("config", f"keys/{named(b'key')}"):
            assert (await client.post(f"{url}{path}", content=b"key")).status_code == 403
        assert (await client.post(f"{url}?create=true")).status_code == 403
        assert (await client.put(f"{url}data/{named(b'x')}", content=b"x")).status_code == 403


async def test_a_token_opens_only_the_repository_of_its_site(gateway: Gateway, folder: Path):
    mine, other = await gateway.new_site(), await gateway.new_site()
    await other.back_up(folder)
    url = gateway.token(mine.id)
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{url}data/")).json() == []
        theirs = (await client.get(f"{gateway.token(other.id)}data/")).json()[0]["name"]
        assert (await client.get(f"{url}data/{theirs}")).status_code == 404
        sneaky = (
            f"../{other.id}/config",
            f"%2e%2e/{other.id}/data/{theirs}",
            f"data/../../{other.id}/config",
            f"data/{theirs}/",
            f"data//{theirs}",
            f"data/{theirs[:2]}/{theirs}",
            f"data/{theirs}%00",
            f"data/{theirs.upper()}",
        )
        for path in sneaky:
            # Sent as it is: a client would normalize the path.
            request = httpx.Request("GET", url)
            request.url = request.url.copy_with(raw_path=request.url.raw_path + path.encode())
            assert (await client.send(request)).status_code in (401, 403, 404), path


async def test_invalid_tokens_are_refused(gateway: Gateway):
    site = await gateway.new_site()
    now = int(time.time())
    right = RepositoryToken(site.id, "job", "append", 100, now, now + 60)
    text = sign(gateway.key, right)
    more = sign(gateway.key, RepositoryToken(site.id, "job", "append", 9**9, now, now + 60))
    content, _, signature = text.partition(".")
    refused = (
        *("", "x", "x.y", content, f"{content}.", f".{signature}", "a" * 5000),
        sign(bytes(32), right),
        sign(gateway.key, RepositoryToken(site.id, "job", "append", 100, now - 60, now - 1)),
        sign(gateway.key, RepositoryToken("../other", "job", "append", 100, now, now + 60)),
        f"{more.partition('.')[0]}.{signature}",
    )
    async with httpx.AsyncClient() as client:
        assert (await client.get(repository_url(gateway.url, text) + "config")).status_code == 200
        for token in refused:
            assert (await client.get(repository_url(gateway.url, token) + "config")).status_code == 401


async def test_a_token_for_reading_adds_nothing(site: BackedUpSite):
    url = site.gateway.token(site.id, "read")
    async with httpx.AsyncClient() as client:
        for kind in ("data", "index", "snapshots", "keys"):
            response = await client.post(f"{url}{kind}/{named(b'x')}", content=b"x")
            assert response.status_code == 403
        assert (await client.get(f"{url}data/")).json() == []


async def test_a_token_ends_while_a_file_is_uploaded(site: BackedUpSite):
    url = site.gateway.token(site.id, seconds=2)

    async def slow() -> AsyncIterator[bytes]:
        yield b"a"
        await asyncio.sleep(end - time.time())
        yield b"b"

    end = time.time() + 2.5
    async with httpx.AsyncClient(timeout=30) as client:
        headers = {"content-length": "2"}
        response = await client.post(f"{url}data/{named(b'ab')}", content=slow(), headers=headers)
    assert response.status_code == 401
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{site.gateway.token(site.id)}data/")).json() == []


async def add(url: str, size: int) -> int:
    content = os.urandom(size)
    async with httpx.AsyncClient() as client:
        return (await client.post(f"{url}data/{named(content)}", content=content)).status_code


async def sum_sizes(url: str) -> int:
    async with httpx.AsyncClient() as client:
        return sum(each["size"] for each in (await client.get(f"{url}data/")).json())


async def test_a_job_adds_no_more_bytes_than_its_token_says(site: BackedUpSite):
    url = site.gateway.token(site.id, added=100_000)
    for size, status in ((60_000, 200), (60_000, 507), (40_001, 507), (40_000, 200), (1, 507)):
        assert await add(url, size) == status, size
    assert await sum_sizes(url) == 100_000
    # Another job of the site starts at zero.
    assert await add(site.gateway.token(site.id, added=20_000), 5) == 200


async def test_a_job_that_gets_a_token_for_each_attempt_has_one_budget(site: BackedUpSite):
    job = new_id("job")
    statuses = []
    for seconds in range(600, 620):
        url = site.gateway.token(site.id, added=100_000, seconds=seconds, job=job)
        statuses.append(await add(url, 30_000))
    assert statuses == [200] * 3 + [507] * 17
    assert await sum_sizes(url) == 90_000


async def test_tiny_files_are_not_free(site: BackedUpSite):
    url = site.gateway.token(site.id, added=5 * LEAST_COST)
    assert [await add(url, 8) for _ in range(8)] == [200] * 5 + [507] * 3


async def test_the_count_of_a_job_is_kept_while_it_can_get_tokens(monkeypatch: pytest.MonkeyPatch):
    async def measure_nothing(_: RepositoryToken) -> int:
        return 0

    budgets = ByteBudgets(measure_nothing)
    long, limit = "long", 100 * LEAST_COST
    await budgets.spend(RepositoryToken("site", long, "append", limit, 0, 5700), limit)
    for now, is_kept in ((2 * 5700 - 1, True), (2 * 5700 + int(KEEP_SECONDS) + 1, False)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        await budgets.spend(RepositoryToken("site", f"at {now}", "append", limit, now, now + 1), 1)
        spending = budgets.spend(RepositoryToken("site", long, "append", limit, 5600, 5700), 1)
        if is_kept:
            with pytest.raises(BudgetExhausted):
                await spending
        else:
            await spending


async def test_a_file_that_is_not_named_after_its_content_is_refused(site: BackedUpSite):
    url = site.gateway.token(site.id, added=2 * LEAST_COST)
    async with httpx.AsyncClient() as client:
        for _ in range(20):
            response = await client.post(f"{url}data/{named(b'right')}", content=b"wrong" * 10)
            assert response.status_code == 400
        # Refused files do not count.
        response = await client.post(f"{url}data/{named(b'right')}", content=b"right")
        assert response.status_code == 200


async def test_a_snapshot_is_restored_although_a_node_added_rubbish_later(
    site: BackedUpSite, folder: Path, tmp_path: Path
):
    await site.back_up(folder)
    taken_at = int(time.time()) + 1
    await asyncio.sleep(taken_at + 1 - time.time())
    url = site.gateway.token(site.id)
    async with httpx.AsyncClient() as client:
        for kind in ("index", "snapshots", "data"):
            content = os.urandom(2000)
            assert (await client.post(f"{url}{kind}/{named(content)}", content=content)).status_code == 200
    with pytest.raises(AssertionError):
        await site.restore(tmp_path / "disturbed")
    await site.restore(tmp_path / "restored", as_of=taken_at)
    assert checksums(tmp_path / "restored") == checksums(folder)
