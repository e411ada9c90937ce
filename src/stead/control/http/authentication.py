"""The door: which credential is this, is it good from here and now, and has it requests left?"""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import structlog

from stead.control import metrics
from stead.control.engines.postgres import Database, Tx
from stead.control.http.client_address import client_address
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
)

log = structlog.get_logger()

Loader = Callable[[Tx, bytes], Awaitable[Principal | None]]
"""Finds the principal of a secret's hash; raises when it was revoked, returns None when there is none."""

COPY_SECONDS = 60.0
MOST_COPIES = 10_000
COMPLAINT_SECONDS = 60.0


class _Copy(NamedTuple):
    principal: Principal
    marks: FreshnessMarks
    taken: float

    def is_outdated(self, marks: FreshnessMarks | None) -> bool:
        return self.marks != marks or time.monotonic() - self.taken > COPY_SECONDS


class Authenticator:
    def __init__(
        self,
        database: Database,
        limiter: Limiter,
        loaders: Mapping[secrets.Family, Loader],
        proxies: tuple[Network, ...],
        clock: Clock,
    ) -> None:
        self._database, self._limiter, self._loaders = database, limiter, loaders
        self._proxies, self._clock = proxies, clock
        self._copies: dict[bytes, _Copy] = {}
        self._complained = -COMPLAINT_SECONDS
        self.used: dict[tuple[str, str], float] = {}

    def clear_cache(self) -> None:
        """Trust no copy: the marks it was compared with may be gone."""
        self._copies.clear()

    async def authenticate(self, request: Request, rate: RateClass | None) -> Principal:
        """The caller; what it spent is left on the request, for its headers, even when it was too much."""
        text = _bearer(request)
        hashed = secrets.digest(text)
        copy = self._copies.get(hashed) if rate is not None else None
        if copy is not None and copy.principal.expires_at <= self._clock():
            copy = None  # a session may have slid on since it was copied
        principal = copy.principal if copy is not None else await self._load(text, hashed)
        self._check(principal, request)
        if rate is not None:
            spent = await self._limiter.spend(principal, rate)
            request.rate_limit = spent or self._unenforced(principal, rate)
            if copy is None or spent is None or copy.is_outdated(spent.marks):
                principal = await self._load(text, hashed)
                self._keep(hashed, principal, spent and spent.marks)
                self._check(principal, request)
        else:
            request.rate_limit = await self._limiter.peek(principal, "read")
        self.used[principal.kind, principal.id] = self._clock().timestamp()
        return principal

    def client_address(self, request: Request) -> Address:
        return client_address(request.peer, request.header(b"x-forwarded-for"), self._proxies)

    async def _load(self, text: str, hashed: bytes) -> Principal:
        family = secrets.family_of(text)
        if family is None:
            raise CredentialMalformed
        self._copies.pop(hashed, None)
        async with self._database.reading() as tx:
            principal = await self._loaders[family](tx, hashed)
        if principal is None:
            raise CredentialInvalid
        return principal

    def _keep(self, hashed: bytes, principal: Principal, marks: FreshnessMarks | None) -> None:
        """Keep a copy. Its marks were read before it was loaded, so a change in between outdates it."""
        if marks is None:
            return
        if len(self._copies) >= MOST_COPIES:
            self._copies.pop(next(iter(self._copies)))
        self._copies[hashed] = _Copy(principal, marks, time.monotonic())

    def _check(self, principal: Principal, request: Request) -> None:
        if principal.expires_at <= self._clock():
            raise CredentialExpired
        if principal.networks:
            address = self.client_address(request)
            if not principal.may_come_from(address):
                raise AddressNotAllowed(address=address)

    def _unenforced(self, principal: Principal, rate: RateClass) -> RateLimitResult:
        metrics.limits_unenforced.inc()
        if time.monotonic() - self._complained >= COMPLAINT_SECONDS:
            self._complained = time.monotonic()
            log.warning("limits.unenforced", reason="redis is unreachable")
        return unenforced(principal, rate)


def _bearer(request: Request) -> str:
    header = request.header(b"authorization")
    if not header:
        raise CredentialMissing
    kind, _, text = header.partition(" ")
    if kind.lower() != "bearer" or not text:
        raise CredentialMalformed
    return text.strip()
