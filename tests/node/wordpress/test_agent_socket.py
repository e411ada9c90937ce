"""A site that floods its socket, or sends nonsense, is answered cheaply, and no purge is lost."""

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest

from stead.node.containers.limits import ContainerFailed
from stead.node.wordpress import agent_socket
from stead.node.wordpress.agent_socket import AgentSocket, SiteAnswer, SiteMessage
from stead.node.wordpress.captured_mail import CapturedMails
from stead.node.wordpress.cron_schedule import CronSchedule
from stead.node.wordpress.mail import SiteMail
from stead.node.wordpress.mail_spool import MailSpool
from stead.node.wordpress.paths import EnvironmentPaths
from stead.node.wordpress.purge_queue import PurgeQueue
from stead.node.wordpress.release_layout import FILE, read_layout
from stead.node.wordpress.site_services import SiteServices
from stead.shared.token_bucket import TokenBucket
from tests.patience import time_limit


async def say(socket: Path, line: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(socket)
    try:
        writer.write(line + b"\n")
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def no_log(_: str, __: str) -> None:
    return


@pytest.mark.parametrize(
    "line", [b'{"purge": ["\xff"]}', b'{"x": ' + b"[" * 10_000, b"\xff", b"[1, 2", b"null"]
)
async def test_what_cannot_be_read_is_answered(tmp_path: Path, line: bytes):
    async def handle(_: SiteMessage, __: asyncio.StreamReader) -> SiteAnswer:
        return SiteAnswer()

    async with AgentSocket(handle, lambda: None).listen(tmp_path / "socket"), time_limit(20):
        assert await say(tmp_path / "socket", line) == b'{"error":"the message cannot be read"}\n'


@pytest.mark.parametrize("text", [b'{"content": "\xff"}', b'{"x": ' + b"[" * 4000])
def test_a_release_that_cannot_be_read_is_a_failure_of_its_site(tmp_path: Path, text: bytes):
    (tmp_path / FILE).write_bytes(text)
    with pytest.raises(ContainerFailed):
        read_layout(tmp_path)


async def test_messages_of_a_site_that_were_not_read_purge_all_its_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    monkeypatch.setattr(agent_socket, "BURST", 3)
    monkeypatch.setattr(agent_socket, "MESSAGES_PER_SECOND", 0.001)
    monkeypatch.setattr("stead.node.wordpress.site_services.PURGE_ANSWER_SECONDS", 0.01)
    purges = PurgeQueue(tmp_path / "admin.sock")
    schedule, spool = CronSchedule(tmp_path / "cron.sqlite"), MailSpool(tmp_path / "mail.sqlite", 1)
    services = SiteServices(purges, schedule, SiteMail(spool, None, "", no_log), CapturedMails())
    # The path of a socket has at most 107 bytes.
    short = Path(tempfile.mkdtemp(prefix="stead-"))
    request.addfinalizer(lambda: shutil.rmtree(short))
    paths = EnvironmentPaths(short, "env_a")
    paths.agent_socket.parent.mkdir(parents=True)
    await services.open(paths, is_clone=False)
    async with time_limit(20):
        for number in range(3):
            assert await say(paths.agent_socket, b'{"purge": ["tag-%d"]}' % number) == b"{}\n"
        assert purges._waiting["env_a"].tags == {"tag-0", "tag-1", "tag-2"}
        assert await say(paths.agent_socket, b'{"purge": ["tag-3"]}') != b"{}\n"
    assert purges._waiting["env_a"].tags is None
    await services.close_all()
    schedule.close()
    spool.close()


async def test_a_site_with_too_many_connections_is_told_to_the_owner_of_the_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(agent_socket, "MAX_CONNECTIONS", 1)
    reading, lost = asyncio.Event(), asyncio.Event()

    async def handle(_: SiteMessage, reader: asyncio.StreamReader) -> SiteAnswer:
        reading.set()
        await reader.read()
        return SiteAnswer()

    async with AgentSocket(handle, lost.set).listen(tmp_path / "socket"), time_limit(20):
        first = asyncio.create_task(say(tmp_path / "socket", b"{}"))
        await reading.wait()
        assert not lost.is_set()
        await say(tmp_path / "socket", b"{}")
        assert lost.is_set()
        first.cancel()


def test_a_bucket_is_filled_again():
    now = 0.0
    bucket = TokenBucket(2, 3, lambda: now)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    now = 1.0
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    now = 100.0
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
