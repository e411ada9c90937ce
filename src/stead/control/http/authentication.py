"""Authenticates a request: checks its credential, the client address and the rate limits."""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import NamedTuple

import structlog

from stead.control import metrics
from stead.control.engines.postgres import Database, Tx
from stead.control.http.browser_sessions import cookie_token, require_own_page
from stead.control.http.client_address import client_address
from stead.control.http.failed_lookups import FailedLookups
from stead.control.http.principal import Address, Network, Principal
from stead.control.http.rate_limits import FreshnessMarks, Limiter, RateClass, RateLimitResult, unenforced
from stead.control.http.requests import Request
from stead.shared import secrets
from stead.shared.clock import Clock
from stead.shared.errors import (
    AddressNotAllowed,
    CredentialExpired,
    CredentialInvalid,
    CredentialMalformed,
    CredentialMissing,
    RateLimitExceeded,
)

log = structlog.get_logger()

Loader = Callable[[Tx, bytes], Awaitable[Principal | None]]
"""Finds the principal by the hash of its secret. Returns None if there is none; raises if it was revoked."""

CACHE_SECONDS = 60.0
MAX_CACHED = 10_000
WARNING_SECONDS = 60.0


class _CachedPrincipal(NamedTuple):
    principal: Principal
    marks: FreshnessMarks
    loaded_at: float

    def is_stale(self, marks: FreshnessMarks | None) -> bool:
        return self.marks != marks or time.monotonic() - self.loaded_at > CACHE_SECONDS


class Authenticator:
    def __init__(
        self,
        database: Database,
        limiter: Limiter,
        loaders: Mapping[secrets.Family, Loader],
        proxies: tuple[Network, ...],
        clock: Clock,
        failed_lookups: FailedLookups,
    ) -> None:
        self._database, self._limiter, self._loaders = database, limiter, loaders
        self._proxies, self._clock = proxies, clock
        self._failed_lookups = failed_lookups
        self._cache: dict[bytes, _CachedPrincipal] = {}
        self._warned_at = -WARNING_SECONDS
        self.used: dict[tuple[str, str], float] = {}
        """When each credential was last used, until the API writes it to the database."""

    def clear_cache(self) -> None:
        """For a new Redis connection: the marks that cached principals were compared with may be lost."""
        self._cache.clear()

    async def authenticate(self, request: Request, rate: RateClass | None) -> Principal:
        """Return the caller. Sets `request.rate_limit` for the response headers, also if it is exceeded."""
        text, now = _credential(request), self._clock()
        hashed = secrets.digest(text)
        cached = self._cache.get(hashed) if rate is not None else None
        if cached is not None and cached.principal.expires_at <= now:
            cached = None  # a session may have been extended since it was cached
        if cached is not None:
            principal = cached.principal
        else:
            principal = await self._load_limited(text, hashed, self.client_address(request))
        self._check(principal, request, now)
        if rate is not None:
            result = await self._limiter.spend(principal, rate)
            request.rate_limit = result or self._unenforced(principal, rate)
            if cached is None or result is None or cached.is_stale(result.marks):
                principal = await self._load(text, hashed)
                self._store(hashed, principal, result and result.marks)
                self._check(principal, request, now)
        else:
            request.rate_limit = await self._limiter.peek(principal, "read")
        self.used[principal.kind, principal.id] = now.timestamp()
        return principal

    async def authenticate_again(self, request: Request) -> Principal:
        """Check the credential of a request that is still being answered. Nothing is spent."""
        text = _credential(request)
        principal = await self._load(text, secrets.digest(text))
        self._check(principal, request, self._clock())
        return principal

    def client_address(self, request: Request) -> Address:
        return client_address(request.peer, request.header(b"x-forwarded-for"), self._proxies)

    async def _load_limited(self, text: str, hashed: bytes, address: Address) -> Principal:
        """Load a credential that may not exist. Raises RateLimitExceeded if too many did not."""
        if secrets.family_of(text) is None:
            raise CredentialMalformed
        wait = self._failed_lookups.spend(address)
        if wait:
            raise RateLimitExceeded(seconds=wait)
        try:
            principal = await self._load(text, hashed)
        except CredentialInvalid:
            metrics.unknown_credentials.inc()
            raise
        except BaseException:
            self._failed_lookups.give_back(address)
            raise
        self._failed_lookups.give_back(address)
        return principal

    async def _load(self, text: str, hashed: bytes) -> Principal:
        family = secrets.family_of(text)
        if family is None:
            raise CredentialMalformed
        self._cache.pop(hashed, None)
        async with self._database.reading() as tx:
            principal = await self._loaders[family](tx, hashed)
        if principal is None:
            raise CredentialInvalid
        return principal

    def _store(self, hashed: bytes, principal: Principal, marks: FreshnessMarks | None) -> None:
        """Cache a principal. Its marks were read before it was loaded: a change in between makes it stale."""
        if marks is None:
            return
        if len(self._cache) >= MAX_CACHED:
            self._cache.pop(next(iter(self._cache)))
        self._cache[hashed] = _CachedPrincipal(principal, marks, time.monotonic())

    def _check(self, principal: Principal, request: Request, now: datetime) -> None:
        if principal.expires_at <= now:
            raise CredentialExpired
        if principal.networks:
            address = self.client_address(request)
            if not principal.allows_address(address):
                raise AddressNotAllowed(address=address)

    def _unenforced(self, principal: Principal, rate: RateClass) -> RateLimitResult:
        metrics.limits_unenforced.inc()
        if time.monotonic() - self._warned_at >= WARNING_SECONDS:
            self._warned_at = time.monotonic()
            log.warning("limits.unenforced", reason="redis is unreachable")
        return unenforced(principal, rate)


def _credential(request: Request) -> str:
    """The text of the `Authorization` header; or, of a browser, that of its cookie."""
    header = request.header(b"authorization")
    if not header:
        return _cookie(request)
    kind, _, text = header.partition(" ")
    if kind.lower() != "bearer" or not text:
        raise CredentialMalformed
    return text.strip()


def _cookie(request: Request) -> str:
    text = cookie_token(request)
    if text is None:
        raise CredentialMissing
    require_own_page(request)
    if secrets.family_of(text) != "stead_session":
        raise CredentialMalformed
    return text
