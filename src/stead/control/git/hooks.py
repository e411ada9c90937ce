"""Where forges post their pushes. Who is not vouched for learns nothing, not even whether a site is there."""

import secrets
from datetime import timedelta

import structlog
from starlette.requests import Request as PageRequest
from starlette.responses import Response
from starlette.routing import Route

from stead.control.engines.postgres import UNREACHABLE, Database
from stead.control.git import payloads
from stead.control.git import pushes as service
from stead.control.git import service as git
from stead.control.git.push_rules import HookRefused
from stead.control.http.authentication import Authenticator
from stead.control.http.rate_limits import Limiter
from stead.control.http.requests import Request
from stead.control.http.responses import JSON, ApiResponse, refuse, wrap
from stead.control.sealing import Sealer
from stead.shared.errors import ApiError, RateLimitExceeded, Unavailable
from stead.shared.ids import has_shape

log = structlog.get_logger()

MOST_BYTES = 5 * 1024 * 1024
PER_SITE = 120
"""Deliveries a minute that were vouched for."""
PER_ADDRESS = 1200
"""Deliveries a minute from one address, to whichever site: a forge sends those of many customers from one."""
PER_ADDRESS_AND_SITE = 240
_NOBODY = f"site_{'0' * 26}"
_DECOY = b"git hook of nobody"
_FIXED = [JSON, (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class Hooks:
    def __init__(
        self,
        database: Database,
        limiter: Limiter,
        authenticator: Authenticator,
        sealer: Sealer,
        preview_domain: str,
        *,
        docs_url: str,
        quiet: timedelta,
    ) -> None:
        self._database, self._limiter, self._authenticator = database, limiter, authenticator
        self._sealer, self._preview_domain, self._docs_url, self._quiet = (
            sealer,
            preview_domain,
            docs_url,
            quiet,
        )
        self._decoy = sealer.seal(secrets.token_urlsafe(32).encode(), context=_DECOY)

    def routes(self) -> list[Route]:
        return [Route(f"{git.HOOK_PATH}/{{site_id}}", self._answer, methods=["POST"])]

    async def _answer(self, page: PageRequest) -> Response:
        request = Request(page.scope, page.receive)
        try:
            answer = await self._hear(request, page.path_params["site_id"])
        except ApiError as error:
            answer = refuse(error, request.id, self._docs_url)
        except UNREACHABLE as error:
            log.warning("database.unreachable", operation="hooks.git", reason=type(error).__name__)
            answer = refuse(Unavailable(), request.id, self._docs_url)
        response = Response(answer.body, answer.status)
        response.raw_headers += [*_FIXED, (b"x-request-id", request.id.encode()), *answer.headers]
        return response

    async def _hear(self, request: Request, named: str) -> ApiResponse:
        site = named if has_shape("site", named) else _NOBODY
        address = self._authenticator.client_address(request)
        await self._spend(f"hook:{address}:{site}", PER_ADDRESS_AND_SITE, f"hook:{address}", PER_ADDRESS)
        body = await request.body(MOST_BYTES)
        how = payloads.signed(await self._secret(site), request.header, body)
        if how is None:
            raise HookRefused
        await self._spend(f"hook:{site}", PER_SITE, f"hook:{site}:all", PER_SITE)
        delivery = payloads.read(request.header, body)
        digest = payloads.identity(how, request.header, body)
        answer = await service.hear(
            self._database, site, digest, delivery, self._preview_domain, quiet=self._quiet
        )
        return ApiResponse(202 if delivery.push else 200, wrap(answer, request.id))

    async def _secret(self, site: str) -> bytes:
        """The site's, or one that nobody knows: either is looked up, opened and compared with."""
        async with self._database.reading() as tx:
            secret = await git.hook_secret(tx, site, self._sealer)
        return secret or self._sealer.open(self._decoy, context=_DECOY)

    async def _spend(self, first: str, first_limit: int, second: str, second_limit: int) -> None:
        wait = await self._limiter.spend_anonymous(first, first_limit, second, second_limit)
        if wait:
            raise RateLimitExceeded(seconds=wait)
