"""Token buckets in a real Redis: no interleaving of clients gets more out of them than is in them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stead.control.engines.redis import Redis
from stead.control.http.principal import Principal, RateLimits
from stead.control.http.rate_limits import (
    MINUTE,
    RATE_CLASSES,
    Bucket,
    Limiter,
    RateClass,
    RateLimitResult,
    ceiling_key,
    limit_of,
    own_key,
)
from stead.control.settings import Settings
from stead.shared.ids import new_id
from tests.control.http.principals import keys_of_one_account

CLIENTS = 4
some_limits = st.builds(
    RateLimits,
    read=st.integers(1, 9),
    write=st.integers(1, 5),
    create=st.integers(1, 3),
    ceiling=st.integers(1, 12),
)
requests = st.lists(
    st.tuples(st.integers(0, CLIENTS - 1), st.integers(0, 2), st.sampled_from(RATE_CLASSES)),
    min_size=1,
    max_size=60,
)
"""Which of the clients sends a request of which of the keys, and of which class."""


@pytest.fixture(scope="module")
async def limiters(settings: Settings) -> AsyncIterator[list[Limiter]]:
    """As many processes as there are clients would have: a connection each."""
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(CLIENTS):
            redis = Redis(settings.redis_url, on_connect=lambda: None)
            await redis.start()
            stack.push_async_callback(redis.close)
            made.append(Limiter(redis))
        yield made


async def spend(limiter: Limiter, principal: Principal, rate: RateClass) -> RateLimitResult:
    spent = await limiter.spend(principal, rate)
    assert spent is not None
    return spent


async def peek(limiter: Limiter, principal: Principal) -> list[Bucket]:
    names = [own_key(principal.id, rate) for rate in RATE_CLASSES] + [ceiling_key(principal.ceiling_owner)]
    limits = [limit_of(principal.limits, rate) for rate in RATE_CLASSES] + [principal.limits.ceiling]
    return await limiter.peek_buckets(names, limits)


def most(limit: int, elapsed: int) -> float:
    """What a full bucket can give within so many microseconds."""
    return limit + elapsed / (MINUTE // limit)


@given(limits=some_limits, requests=requests, in_waves=st.integers(1, 8))
@settings(max_examples=100)
async def test_no_interleaving_gets_more_than_a_bucket_holds(
    limiters: list[Limiter], limits: RateLimits, requests: list[tuple[int, int, RateClass]], in_waves: int
):
    principals = keys_of_one_account(limits)
    answers: list[tuple[int, RateLimitResult]] = []

    async def send(client: int, key: int, rate: RateClass) -> None:
        answers.append((key, await spend(limiters[client], principals[key], rate)))

    for start in range(0, len(requests), in_waves):
        await asyncio.gather(*[send(*request) for request in requests[start : start + in_waves]])

    moments = [spent.own.now for _, spent in answers]
    elapsed = max(moments) - min(moments)
    passed = [(key, spent) for key, spent in answers if spent.allowed]
    assert len(passed) <= most(limits.ceiling, elapsed)
    for key in range(len(principals)):
        for rate in RATE_CLASSES:
            mine = [spent for its, spent in passed if its == key and spent.rate == rate]
            assert len(mine) <= most(limit_of(limits, rate), elapsed)
    for _, spent in answers:
        for bucket in (spent.own, spent.ceiling):
            assert 0 <= bucket.remaining <= bucket.limit
            assert bucket.full_at - bucket.now <= (MINUTE // bucket.limit) * bucket.limit
    left = (await peek(limiters[0], principals[0]))[-1]
    assert left.limit - left.remaining <= len(passed)


@given(limits=some_limits, rate=st.sampled_from(RATE_CLASSES))
@settings(max_examples=20)
async def test_a_burst_of_all_clients_gets_exactly_what_is_there(
    limiters: list[Limiter], limits: RateLimits, rate: RateClass
):
    """Nothing that fits is refused, either: the burst is over long before the next token."""
    (principal,) = keys_of_one_account(limits, 1)
    burst = [spend(limiters[turn % CLIENTS], principal, rate) for turn in range(20)]
    answers = await asyncio.gather(*burst)
    assert sum(spent.allowed for spent in answers) == min(limit_of(limits, rate), limits.ceiling)


@given(limits=some_limits, rate=st.sampled_from(RATE_CLASSES))
@settings(max_examples=20)
async def test_a_denied_request_spends_from_neither_bucket(
    limiters: list[Limiter], limits: RateLimits, rate: RateClass
):
    (principal,) = keys_of_one_account(limits, 1)
    while (await spend(limiters[0], principal, rate)).allowed:
        pass
    before = [bucket.full_at for bucket in await peek(limiters[0], principal)]
    denied = [await spend(limiters[turn], principal, rate) for turn in range(CLIENTS)]
    after = await peek(limiters[1], principal)
    assert not any(spent.allowed for spent in denied)
    for was, bucket in zip(before, after, strict=True):
        assert bucket.full_at == max(was, bucket.now)


@given(count=st.integers(2, 12), limits=some_limits)
@settings(max_examples=20)
async def test_more_keys_do_not_raise_the_ceiling(limiters: list[Limiter], count: int, limits: RateLimits):
    principals = keys_of_one_account(limits, count)
    burst = [
        spend(limiters[turn % CLIENTS], principal, "read")
        for turn in range(limits.read)
        for principal in principals
    ]
    passed = sum(spent.allowed for spent in await asyncio.gather(*burst))
    assert passed == min(limits.ceiling, limits.read * count)


async def test_the_buckets_of_the_classes_are_separate(limiters: list[Limiter]):
    (principal,) = keys_of_one_account(RateLimits(read=3, write=2, create=1, ceiling=100), 1)
    for rate in RATE_CLASSES:
        burst = [await spend(limiters[0], principal, rate) for _ in range(5)]
        assert sum(spent.allowed for spent in burst) == limit_of(principal.limits, rate)


async def test_accounts_do_not_share_anything(limiters: list[Limiter]):
    limits = RateLimits(read=2, write=1, create=1, ceiling=2)
    (mine,), (theirs,) = keys_of_one_account(limits, 1), keys_of_one_account(limits, 1)
    while (await spend(limiters[0], mine, "read")).allowed:
        pass
    assert (await spend(limiters[0], theirs, "read")).allowed


async def test_a_bucket_refills_while_time_passes(limiters: list[Limiter]):
    """120 a minute is one every half second."""
    (principal,) = keys_of_one_account(RateLimits(read=120, write=1, create=1, ceiling=1200), 1)
    while (await spend(limiters[0], principal, "read")).allowed:
        pass
    await asyncio.sleep(0.55)
    assert (await spend(limiters[1], principal, "read")).allowed
    assert not (await spend(limiters[2], principal, "read")).allowed


async def test_the_wait_that_is_told_is_long_enough_and_not_much_longer(limiters: list[Limiter]):
    (principal,) = keys_of_one_account(RateLimits(read=60, write=1, create=1, ceiling=1200), 1)
    while (denied := await spend(limiters[0], principal, "read")).allowed:
        pass
    assert denied.retry_after == 1
    await asyncio.sleep(denied.retry_after)
    assert (await spend(limiters[0], principal, "read")).allowed


async def test_peeking_spends_nothing(limiters: list[Limiter]):
    (principal,) = keys_of_one_account(RateLimits(read=2, write=2, create=2, ceiling=3), 1)
    for _ in range(20):
        assert [bucket.remaining for bucket in await peek(limiters[0], principal)] == [2, 2, 2, 3]
    await spend(limiters[0], principal, "write")
    assert [bucket.remaining for bucket in await peek(limiters[0], principal)] == [2, 1, 2, 2]


@given(limits=st.lists(st.integers(1, 6), min_size=2, max_size=2), count=st.integers(1, 15))
@settings(max_examples=20)
async def test_unnamed_buckets_hold_in_a_crowd_too(limiters: list[Limiter], limits: list[int], count: int):
    """Those that slow down password guessing."""
    one, other = new_id("test"), new_id("test")
    waits = await asyncio.gather(
        *[limiters[n % CLIENTS].spend_anonymous((one, limits[0]), (other, limits[1])) for n in range(count)]
    )
    assert sum(wait == 0 for wait in waits) == min(count, *limits)
    assert all(0 <= wait <= 60 for wait in waits)


@given(
    limit=st.integers(1, 100_000),
    ahead=st.integers(-MINUTE, 2 * MINUTE),
    now=st.integers(MINUTE, 2**51),
)
def test_what_a_bucket_says_of_itself_is_plausible(limit: int, ahead: int, now: int):
    bucket = Bucket(limit, now, now + ahead)
    assert bucket.remaining >= 0
    assert bucket.reset * 1_000_000 >= now
    assert (bucket.wait == 0) == (bucket.full_at + MINUTE // limit - now <= (MINUTE // limit) * limit)
