"""Token buckets in Redis. A request spends from the bucket of its credential and from that of its team; one
that creates something spends from the bucket of its account too.

It spends from all of them or, if one is empty, from none. A bucket is stored as one number: the time at which
it will be full again. The same round trip returns the freshness marks of the credential and its account, so
that a stale cached principal is noticed without another request.
"""

import hashlib
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from stead.control.engines.redis import Redis, RedisDown, ReplyError, pack
from stead.control.http.principal import Principal, RateLimits

RateClass = Literal["read", "write", "create"]
RATE_CLASSES: tuple[RateClass, ...] = ("read", "write", "create")
MINUTE = 60_000_000
FRESHNESS_MARK_SECONDS = 3600
MAX_LOCAL_BUCKETS = 100_000
FreshnessMarks = tuple[bytes, bytes]

_SPEND = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local found = redis.call('MGET', unpack(KEYS))
local allowed, full, buckets = 1, {}, #ARGV
for i = 1, buckets do
  local limit, interval = tonumber(ARGV[i]), math.floor(60000000 / ARGV[i])
  full[i] = math.max(tonumber(found[i] or 0), now)
  if full[i] + interval - now > interval * limit then allowed = 0 end
end
if allowed == 1 then
  for i = 1, buckets do
    full[i] = full[i] + math.floor(60000000 / ARGV[i])
    redis.call('SET', KEYS[i], string.format('%.0f', full[i]), 'PX', math.ceil((full[i] - now) / 1000))
  end
end
for i = buckets + 1, #KEYS do
  if not found[i] then
    found[i] = string.format('%.0f', now)
    redis.call('SET', KEYS[i], found[i], 'EX', 3600)
  end
  full[i] = found[i]
end
return {allowed, now, unpack(full)}
"""
_SPEND_SHA = hashlib.sha1(_SPEND.encode(), usedforsecurity=False).hexdigest()


class Bucket(NamedTuple):
    """`full_at` and `now` are microseconds of the Redis clock."""

    limit: int
    now: int
    full_at: int

    @property
    def remaining(self) -> int:
        interval = MINUTE // self.limit
        return max(0, (interval * self.limit - (self.full_at - self.now)) // interval)

    @property
    def reset(self) -> int:
        """Unix time in seconds at which the bucket is full again."""
        return -(-max(self.full_at, self.now) // 1_000_000)

    @property
    def wait(self) -> int:
        """Seconds until one more request is allowed."""
        interval = MINUTE // self.limit
        missing = self.full_at + interval - self.now - interval * self.limit
        return max(0, -(-missing // 1_000_000))


class RateLimitResult(NamedTuple):
    allowed: bool
    rate: RateClass
    own: Bucket
    ceiling: Bucket
    marks: FreshnessMarks | None
    account: Bucket | None = None
    """What all credentials of the account may create; None for other requests."""

    @property
    def retry_after(self) -> int:
        return max(1, self.own.wait, self.ceiling.wait, self.account.wait if self.account else 0)

    def headers(self) -> list[tuple[bytes, bytes]]:
        (limit, now, own_full), (ceiling, _, ceiling_full) = self.own, self.ceiling
        own_wait, ceiling_wait = max(0, own_full - now), max(0, ceiling_full - now)
        remaining = max(0, limit - -(-own_wait // (MINUTE // limit))) if self.allowed else 0
        remaining_for_all = max(0, ceiling - -(-ceiling_wait // (MINUTE // ceiling)))
        full_at = now + (own_wait if self.allowed else max(own_wait, ceiling_wait))
        limit_header, policy_header, template = _constant_parts(self.rate, limit, ceiling)
        seconds, seconds_for_all = own_wait // 1_000_000 + 1, ceiling_wait // 1_000_000 + 1
        return [
            limit_header,
            (b"x-ratelimit-remaining", b"%d" % remaining),
            (b"x-ratelimit-reset", b"%d" % -(-full_at // 1_000_000)),
            policy_header,
            (b"ratelimit", template % (remaining, seconds, remaining_for_all, seconds_for_all)),
        ]


@lru_cache(maxsize=256)
def _constant_parts(
    rate: RateClass, limit: int, ceiling: int
) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes], bytes]:
    """The headers that are constant for a rate class and plan, and a template for the one that is not."""
    policy = f'"{rate}";q={limit};w=60, "team";q={ceiling};w=60'.encode()
    template = f'"{rate}";r=%d;t=%d, "team";r=%d;t=%d'.encode()
    return (b"x-ratelimit-limit", b"%d" % limit), (b"ratelimit-policy", policy), template


def limit_of(limits: RateLimits, rate: RateClass) -> int:
    if rate == "read":
        return limits.read
    return limits.write if rate == "write" else limits.create


def freshness_mark_key(subject: str) -> str:
    return f"fresh:{subject}"


def own_key(credential: str, rate: RateClass) -> str:
    return f"rate:{credential}:{rate}"


def ceiling_key(subject: str) -> str:
    return f"rate:{subject}:ceiling"


@lru_cache(maxsize=20_000)
def _spend_command(
    credential: str, account: str, ceiling_owner: str, rate: RateClass, limits: tuple[int, ...]
) -> bytes:
    """The encoded command, cached: for one credential and rate class it is always the same."""
    buckets = [own_key(credential, rate), ceiling_key(ceiling_owner), own_key(account, "create")]
    keys = [*buckets[: len(limits)], freshness_mark_key(credential), freshness_mark_key(account)]
    return pack("EVALSHA", _SPEND_SHA, len(keys), *keys, *limits)


class LocalBuckets:
    """Buckets in the memory of this process, for the time without Redis. Their number is limited."""

    def __init__(self) -> None:
        self._full_at: dict[str, int] = {}

    def spend(self, keys: Sequence[str], limits: Sequence[int]) -> int:
        """Spend from all buckets or from none. Returns the seconds to wait, 0 if it is allowed."""
        now = int(time.monotonic() * 1_000_000)
        full = [max(self._full_at.get(key, 0), now) for key in keys]
        after = [before + MINUTE // limit for before, limit in zip(full, limits, strict=True)]
        if any(each - now > MINUTE // limit * limit for each, limit in zip(after, limits, strict=True)):
            return _longest_wait(now, limits, full)
        for key, full_at in zip(keys, after, strict=True):
            self._full_at.pop(key, None)
            self._full_at[key] = full_at
        while len(self._full_at) > MAX_LOCAL_BUCKETS:
            self._full_at.pop(next(iter(self._full_at)))
        return 0


def _longest_wait(now: int, limits: Sequence[int], full: Sequence[int]) -> int:
    waits = [Bucket(limit, now, full_at).wait for limit, full_at in zip(limits, full, strict=True)]
    return max(1, *waits)


class Limiter:
    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._local = LocalBuckets()

    async def spend(self, principal: Principal, rate: RateClass) -> RateLimitResult | None:
        """Spend one request. None if Redis is unreachable."""
        limits: tuple[int, ...] = (limit_of(principal.limits, rate), principal.limits.ceiling)
        if rate == "create":
            limits = (*limits, principal.limits.account_create)
        command = _spend_command(principal.id, principal.account_id, principal.ceiling_owner, rate, limits)
        reply = await self._run(command)
        if reply is None:
            return None
        allowed, now, *full, credential_mark, account_mark = reply
        own, ceiling, *account = [
            Bucket(limit, now, full_at) for limit, full_at in zip(limits, full, strict=True)
        ]
        marks = credential_mark, account_mark
        return RateLimitResult(allowed == 1, rate, own, ceiling, marks, account[0] if account else None)

    async def peek(self, principal: Principal, rate: RateClass) -> RateLimitResult:
        """The buckets of a rate class, without spending."""
        limits = [limit_of(principal.limits, rate), principal.limits.ceiling]
        own, ceiling = await self.peek_buckets(
            [own_key(principal.id, rate), ceiling_key(principal.ceiling_owner)], limits
        )
        return RateLimitResult(True, rate, own, ceiling, None)

    async def spend_anonymous(self, *buckets: tuple[str, int]) -> int:
        """Spend from buckets without a credential, each a name and a limit per minute. Returns the seconds
        to wait, 0 if it is allowed. While Redis is unreachable, every process counts for itself."""
        keys, limits = [f"rate:{name}" for name, _ in buckets], [limit for _, limit in buckets]
        reply = await self._run(pack("EVALSHA", _SPEND_SHA, len(keys), *keys, *limits))
        if reply is None:
            return self._local.spend(keys, limits)
        allowed, now, *full = reply
        return 0 if allowed == 1 else _longest_wait(now, limits, full)

    async def read_marks(self, subjects: Sequence[str]) -> dict[str, bytes] | None:
        """The current freshness marks, empty where there is none. None if Redis is unreachable."""
        try:
            marks = await self._redis.execute("MGET", *map(freshness_mark_key, subjects))
        except (RedisDown, ReplyError):
            return None
        return {subject: mark or b"" for subject, mark in zip(subjects, marks, strict=True)}

    async def peek_buckets(self, keys: Sequence[str], limits: Sequence[int]) -> list[Bucket]:
        """The current buckets, without spending. If Redis is unreachable, they are reported as full."""
        try:
            clock, values = self._redis.execute("TIME"), self._redis.execute("MGET", *keys)
            seconds, micros = await clock
            now = int(seconds) * 1_000_000 + int(micros)
            return [
                Bucket(limit, now, max(int(value or 0), now))
                for limit, value in zip(limits, await values, strict=True)
            ]
        except (RedisDown, ReplyError):
            now = int(time.time() * 1_000_000)
            return [Bucket(limit, now, now) for limit in limits]

    async def _run(self, command: bytes) -> Any:
        """The reply of the script. None if Redis is unreachable or refuses writes."""
        try:
            try:
                return await self._redis.execute_packed(command)
            except ReplyError as error:
                if "NOSCRIPT" not in str(error):
                    raise
                await self._redis.execute("SCRIPT", "LOAD", _SPEND)
                return await self._redis.execute_packed(command)
        except (RedisDown, ReplyError):
            return None


def unenforced(principal: Principal, rate: RateClass) -> RateLimitResult:
    """The result to report while limits are not enforced: nothing is spent."""
    now = int(time.time() * 1_000_000)
    limit, ceiling = limit_of(principal.limits, rate), principal.limits.ceiling
    return RateLimitResult(True, rate, Bucket(limit, now, now), Bucket(ceiling, now, now), None)
