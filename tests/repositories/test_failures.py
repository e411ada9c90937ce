"""What restic's errors mean: only what it clearly says about the data is damage."""

import pytest

from stead.control.engines import restic
from stead.control.engines.object_store import StoreLocation
from stead.control.engines.restic import (
    PasswordWrong,
    RepositoryDamaged,
    RepositoryMissing,
    ResticInterrupted,
    ResticRepository,
)
from tests.repositories.maintained_site import MaintainedSite, Worker

NO_CONFIG = (
    "Fatal: unable to open config file: Stat: {why}\nIs there a repository at the following location?\ns3:x"
)


@pytest.mark.parametrize(
    ("errors", "meaning"),
    [
        ("Fatal: wrong password or no key found", PasswordWrong),
        (NO_CONFIG.format(why="The specified key does not exist."), RepositoryMissing),
        (NO_CONFIG.format(why="dial tcp 192.0.2.5:8333: connect: connection refused"), ResticInterrupted),
        (NO_CONFIG.format(why="Access Denied."), ResticInterrupted),
        ("Fatal: The Access Key Id you provided does not exist in our records.", ResticInterrupted),
        ("Load(<data/1a2b>, 0, 0) returned error: 503 Service Unavailable", ResticInterrupted),
        ("error: We encountered an internal error\nFatal: repository contains errors", ResticInterrupted),
        ("something that nobody has seen yet", ResticInterrupted),
        ("Fatal: repository contains errors", RepositoryDamaged),
        ("ciphertext verification failed", RepositoryDamaged),
        ("fatal error: runtime: out of memory", RepositoryDamaged),
    ],
)
def test_an_outage_of_the_store_is_not_damage(errors: str, meaning: type[Exception]) -> None:
    for command in ("check", "stats", "snapshots"):
        failure = restic._failure(command, 1, errors)
        assert type(failure) is meaning, command
        if meaning is not ResticInterrupted:
            assert "192.0.2.5" not in failure.reason
            assert "s3:" not in failure.reason


@pytest.mark.parametrize(
    "told", ['{"id":"a","time":"0000-01-01T00:00:00Z"}', '{"id":"a","time":"2026-01-01T00:00:00"}']
)
async def test_a_snapshot_that_cannot_be_read_is_damage_of_its_repository(
    monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    async def run(*_: object, **__: object) -> bytes:
        return f"[{told}]".encode()

    repository = ResticRepository(StoreLocation("http://127.0.0.1:1", "a", "b", "c"), "site_x", "password")
    monkeypatch.setattr(repository, "run", run)
    with pytest.raises(RepositoryDamaged):
        await repository.list_snapshots()


async def test_maintenance_that_fails_lets_others_go_first_and_tells_customers_nothing(
    worker: Worker, site: MaintainedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.take_snapshot()
    await site.sql(
        "update repositories set maintenance_due_at = now() - interval '9 days' where site_id = $1", site.id
    )
    maintainer = worker.maintainer()

    async def fail(_: str) -> ResticRepository:
        raise OSError("an error that nobody expected")

    monkeypatch.setattr(maintainer, "open", fail)
    assert not await maintainer.maintain(site.id)
    assert await site.list_events() == []
    assert await site.value("select maintenance_due_at > now() from repositories where site_id = $1")
    assert await site.value("select problem is null from repositories where site_id = $1")


async def test_a_node_cannot_make_restic_take_the_memory_of_the_worker(
    site: MaintainedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.take_snapshot()
    monkeypatch.setattr(
        restic, "_LIMITED", ("prlimit", "--data=8388608", "setpriv", "--pdeathsig", "KILL", "--")
    )
    with pytest.raises(RepositoryDamaged, match="memory"):
        await site.repository.list_snapshots()
