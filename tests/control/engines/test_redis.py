"""The Redis client against a real server, and against servers that hang, refuse, dribble or go away."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import hiredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stead.control.engines.redis import Redis, RedisDown
from stead.control.http.principal import RateLimits
from stead.control.http.rate_limits import Limiter
from stead.control.settings import Settings
from stead.shared.ids import new_id
from tests.control.http.principals import keys_of_one_account
from tests.patience import slowdown, time_limit

TIMEOUT = 0.1
Reply = Callable[[list[bytes]], bytes | None]


class Server:
    """Speaks as much of the protocol as a test wants; `reply` returning None leaves a command unanswered."""

    def __init__(self, reply: Reply, dribble: bool = False) -> None:
        self.reply, self._dribble = reply, dribble
        self.opened, self.open = 0, 0
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Server"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened, self.open = self.opened + 1, self.open + 1
        parser = hiredis.Reader()
        try:
            while data := await reader.read(65536):
                parser.feed(data)
                while (command := parser.gets()) is not False:
                    await self._answer(writer, self.reply(command))
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, answer: bytes | None) -> None:
        if answer is None:
            return
        for part in [answer[at : at + 1] for at in range(len(answer))] if self._dribble else [answer]:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)


def only_select(command: list[bytes]) -> bytes | None:
    return b"+OK\r\n" if command[0] == b"SELECT" else None


def everything(command: list[bytes]) -> bytes:
    return b"+OK\r\n" if command[0] == b"SELECT" else b"$%d\r\n%b\r\n" % (len(command[-1]), command[-1])


@asynccontextmanager
async def client(port: int, patience: float = TIMEOUT) -> AsyncIterator[Redis]:
    redis = Redis(f"redis://127.0.0.1:{port}/3", timeout=patience, on_connect=lambda: None)
    await redis.start()
    try:
        yield redis
    finally:
        await redis.close()


async def until(condition: Callable[[], bool], seconds: float = 5) -> None:
    async with time_limit(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event to set
            await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
async def redis(settings: Settings) -> AsyncIterator[Redis]:
    real = Redis(settings.redis_url, on_connect=lambda: None)
    await real.start()
    yield real
    await real.close()


async def test_a_server_that_never_answers_does_not_hold_up_the_start():
    async with Server(lambda _: None).running() as server:
        started = time.monotonic()
        async with client(server.port) as redis:
            assert time.monotonic() - started < 10 * TIMEOUT * slowdown()
            assert not redis.connected
            with pytest.raises(RedisDown):
                redis.execute("PING")


async def test_nobody_listening_does_not_hold_up_the_start_either():
    async with Server(everything).running() as server:
        port = server.port
    async with client(port) as redis:
        with pytest.raises(RedisDown):
            redis.execute("PING")


async def test_a_server_that_hangs_fails_every_command_in_time_and_is_connected_anew():
    async with Server(only_select).running() as server, client(server.port) as redis:
        assert redis.connected
        started = time.monotonic()
        answers = await asyncio.gather(*[redis.execute("ECHO", n) for n in range(20)], return_exceptions=True)
        assert time.monotonic() - started < (2 * TIMEOUT + 0.5) * slowdown()
        assert {type(answer) for answer in answers} == {RedisDown}
        server.reply = everything
        await until(lambda: redis.connected)
        assert await redis.execute("ECHO", "back") == b"back"
        assert server.opened >= 2


async def test_a_command_sent_while_others_are_answered_still_times_out():
    """The timer belongs to the oldest command; younger ones are waited for as long at most twice."""

    def all_but_one(command: list[bytes]) -> bytes | None:
        return None if command[-1] == b"lost" else everything(command)

    async with Server(all_but_one).running() as server, client(server.port) as redis:
        assert await redis.execute("ECHO", "first") == b"first"
        started = time.monotonic()
        with pytest.raises(RedisDown):
            await redis.execute("ECHO", "lost")
        assert time.monotonic() - started < (2 * TIMEOUT + 0.5) * slowdown()


async def test_answers_that_come_byte_by_byte_are_put_together():
    async with Server(everything, dribble=True).running() as server, client(server.port, 5) as redis:
        answers = await asyncio.gather(*[redis.execute("ECHO", f"answer {n}") for n in range(20)])
        assert answers == [b"answer %d" % n for n in range(20)]


async def test_a_server_that_refuses_leaves_no_connections_behind():
    """While it is loading its data, or its password has changed, each try ends its own connection."""
    async with (
        Server(lambda _: b"-LOADING Redis is loading the dataset in memory\r\n").running() as server,
        client(server.port) as redis,
    ):
        await until(lambda: server.opened >= 4)
        assert not redis.connected
        assert server.open <= 2
        server.reply = everything
        await until(lambda: redis.connected)


async def test_the_copies_are_forgotten_before_a_new_connection_is_used():
    events: list[str] = []

    def noting(command: list[bytes]) -> bytes:
        events.append(command[0].decode())
        return everything(command)

    async with Server(noting).running() as server:
        redis = Redis(f"redis://127.0.0.1:{server.port}", on_connect=lambda: events.append("forgotten"))
        await redis.start()
        await redis.execute("ECHO", "x")
        await redis.close()
    assert events == ["SELECT", "forgotten", "ECHO"]


async def test_a_killed_connection_comes_back(settings: Settings):
    connected: list[None] = []
    redis = Redis(settings.redis_url, on_connect=lambda: connected.append(None))
    await redis.start()
    own = await redis.execute("CLIENT", "ID")
    with contextlib.suppress(RedisDown):
        await redis.execute("CLIENT", "KILL", "ID", own, "SKIPME", "no")
    await until(lambda: len(connected) == 2 and redis.connected)
    assert await redis.execute("CLIENT", "ID") != own
    await redis.close()


async def test_an_error_answer_is_raised_and_the_next_command_works(redis: Redis):
    with pytest.raises(hiredis.ReplyError, match="unknown command"):
        await redis.execute("NONSENSE")
    assert await redis.execute("PING") == b"PONG"


@given(sizes=st.lists(st.integers(0, 2000), min_size=1, max_size=80), data=st.data())
@settings(max_examples=25)
async def test_many_commands_at_once_each_get_their_own_answer(redis, sizes: list[int], data: st.DataObject):
    """Even when some of those who asked have gone away meanwhile."""
    gone = data.draw(st.sets(st.integers(0, len(sizes) - 1)))
    sent = [b"%d:" % n + b"x" * size for n, size in enumerate(sizes)]
    answers = [redis.execute("ECHO", text) for text in sent]
    for n in gone:
        answers[n].cancel()
    for n, answer in enumerate(answers):
        if n not in gone:
            assert await answer == sent[n]
    assert await redis.execute("ECHO", "last") == b"last"


async def test_commands_of_many_tasks_are_not_mixed_up(redis: Redis):
    async def ask(n: int) -> bool:
        await asyncio.sleep(0.001 * (n % 7))
        return bool(await redis.execute("ECHO", f"{n}") == b"%d" % n)

    assert all(await asyncio.gather(*[ask(n) for n in range(500)]))


async def test_a_forgotten_script_is_sent_again(redis: Redis):
    limiter = Limiter(redis)
    (principal,) = keys_of_one_account(RateLimits(read=5, write=5, create=5, ceiling=5), 1)
    for expected in (4, 3, 2):
        await redis.execute("SCRIPT", "FLUSH")
        spent = await limiter.spend(principal, "read")
        assert spent is not None
        assert (spent.allowed, spent.own.remaining) == (True, expected)
    await redis.execute("SCRIPT", "FLUSH")
    assert await limiter.spend_anonymous((new_id("test"), 1), (new_id("test"), 1)) == 0


@pytest.mark.parametrize(
    "error",
    [
        b"-MISCONF Redis is configured to save RDB snapshots, but unable to persist to disk.\r\n",
        b"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
        b"-READONLY You can't write against a read only replica.\r\n",
    ],
)
async def test_a_server_that_takes_no_writes_counts_as_absent(error: bytes):
    """Limits are not enforced while there is no Redis to count in; no request fails because of it."""

    def refusing(command: list[bytes]) -> bytes:
        return b"+OK\r\n" if command[0] == b"SELECT" else error

    (principal,) = keys_of_one_account(RateLimits(read=5, write=5, create=5, ceiling=5), 1)
    async with Server(refusing).running() as server, client(server.port) as redis:
        assert await Limiter(redis).spend(principal, "read") is None
        assert await Limiter(redis).spend_anonymous(("one", 1), ("other", 1)) == 0


async def test_a_limiter_without_redis_lets_everything_pass_and_says_everything_is_left():
    (principal,) = keys_of_one_account(RateLimits(read=5, write=5, create=5, ceiling=5), 1)
    async with Server(lambda _: None).running() as server, client(server.port) as redis:
        limiter = Limiter(redis)
        assert await limiter.spend(principal, "read") is None
        assert await limiter.spend_anonymous(("one", 1), ("other", 1)) == 0
        assert [bucket.remaining for bucket in await limiter.peek_buckets(["a", "b"], [5, 9])] == [5, 9]
