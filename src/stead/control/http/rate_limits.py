"""Token buckets in Redis. A request spends from the bucket of its credential and from that of its team.

It spends from both or, if one is empty, from neither. A bucket is stored as one number: the time at which it
will be full again. The same round trip returns the freshness marks of the credential and its account, so that
a stale cached principal is noticed without another request.
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
FreshnessMarks = tuple[bytes, bytes]

_SPEND = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local found = redis.call('MGET', unpack(KEYS))
local allowed, full = 1, {}
for i = 1, 2 do
  local limit, interval = tonumber(ARGV[i]), math.floor(60000000 / ARGV[i])
  full[i] = math.max(tonumber(found[i] or 0), now)
  if full[i] + interval - now > interval * limit then allowed = 0 end
end
for i = 1, 2 do
  if allowed == 1 then
    full[i] = full[i] + math.floor(60000000 / ARGV[i])
    redis.call('SET', KEYS[i], string.format('%.0f', full[i]), 'PX', math.ceil((full[i] - now) / 1000))
  end
  if KEYS[i + 2] and not found[i + 2] then
    found[i + 2] = string.format('%.0f', now)
    redis.call('SET', KEYS[i + 2], found[i + 2], 'EX', 3600)
  end
end
return {allowed, now, full[1], full[2], found[3], found[4]}
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

    @property
    def retry_after(self) -> int:
        return max(1, self.own.wait, self.ceiling.wait)

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
    credential: str, account: str, ceiling_owner: str, rate: RateClass, limit: int, ceiling: int
) -> bytes:
    """The encoded command, cached: for one credential and rate class it is always the same."""
    keys = (
        own_key(credential, rate),
        ceiling_key(ceiling_owner),
        freshness_mark_key(credential),
        freshness_mark_key(account),
    )
    return pack("EVALSHA", _SPEND_SHA, 4, *keys, limit, ceiling)


class Limiter:
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def spend(self, principal: Principal, rate: RateClass) -> RateLimitResult | None:
        """Spend one request. None if Redis is unreachable."""
        limit, ceiling = limit_of(principal.limits, rate), principal.limits.ceiling
        command = _spend_command(
            principal.id, principal.account_id, principal.ceiling_owner, rate, limit, ceiling
        )
        reply = await self._run(command)
        if reply is None:
            return None
        allowed, now, own_full, ceiling_full, credential_mark, account_mark = reply
        return RateLimitResult(
            allowed == 1,
            rate,
            Bucket(limit, now, own_full),
            Bucket(ceiling, now, ceiling_full),
            (credential_mark, account_mark),
        )

    async def peek(self, principal: Principal, rate: RateClass) -> RateLimitResult:
        """The buckets of a rate class, without spending."""
        limits = [limit_of(principal.limits, rate), principal.limits.ceiling]
        own, ceiling = await self.peek_buckets(
            [own_key(principal.id, rate), ceiling_key(principal.ceiling_owner)], limits
        )
        return RateLimitResult(True, rate, own, ceiling, None)

    async def spend_anonymous(self, first: str, first_limit: int, second: str, second_limit: int) -> int:
        """Spend from two buckets without a credential. Returns the seconds to wait, 0 if it is allowed."""
        keys = f"rate:{first}", f"rate:{second}"
        reply = await self._run(pack("EVALSHA", _SPEND_SHA, 2, *keys, first_limit, second_limit))
        if reply is None or reply[0] == 1:
            return 0
        _, now, first_full, second_full, *_ = reply
        waits = Bucket(first_limit, now, first_full).wait, Bucket(second_limit, now, second_full).wait
        return max(1, *waits)

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
