"""The endpoint to which forges post their deliveries.

A caller without a valid signature learns nothing, not even whether a site exists.
"""

import secrets

import structlog

from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database
from stead.control.git import payloads, service
from stead.control.git.deliveries import DeliveryHandler
from stead.control.git.rules import HookRefused
from stead.control.http.authentication import Authenticator
from stead.control.http.client_address import network_of
from stead.control.http.rate_limits import Limiter
from stead.control.http.requests import Request
from stead.control.http.responses import JSON, ApiResponse, error_response, wrap
from stead.control.http.web import Route, WebRequest, WebResponse
from stead.control.sealing import Sealer
from stead.shared.errors import ApiError, RateLimitExceeded, Unavailable
from stead.shared.ids import has_shape

log = structlog.get_logger()

MAX_BYTES = 5 * 1024 * 1024
PER_SITE = 120
"""Verified deliveries per minute."""
PER_ADDRESS = 1200
"""Deliveries per minute from one address to all sites: a forge serves many customers from one address."""
PER_ADDRESS_AND_SITE = 240
_UNKNOWN_SITE = f"site_{'0' * 26}"
_DECOY_CONTEXT = b"decoy of git hooks"
_FIXED_HEADERS = [JSON, (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class HookEndpoint:
    def __init__(
        self,
        database: Database,
        limiter: Limiter,
        authenticator: Authenticator,
        sealer: Sealer,
        handler: DeliveryHandler,
        *,
        docs_url: str,
    ) -> None:
        self._database, self._limiter, self._authenticator = database, limiter, authenticator
        self._sealer, self._handler, self._docs_url = sealer, handler, docs_url
        self._decoy = sealer.seal(secrets.token_urlsafe(32).encode(), context=_DECOY_CONTEXT)

    def routes(self) -> list[Route]:
        return [Route(f"{service.HOOK_PATH}/{{site_id}}", self._respond, methods=["POST"])]

    async def _respond(self, page: WebRequest) -> WebResponse:
        request = Request(page.scope, page.receive)
        try:
            answer = await self._receive(request, page.path_params["site_id"])
        except ApiError as error:
            answer = error_response(error, request.id, self._docs_url)
        except DATABASE_UNREACHABLE as error:
            log.warning("database.unreachable", operation="hooks.git", reason=type(error).__name__)
            answer = error_response(Unavailable(), request.id, self._docs_url)
        response = WebResponse(answer.body, answer.status)
        response.raw_headers += [*_FIXED_HEADERS, (b"x-request-id", request.id.encode()), *answer.headers]
        return response

    async def _receive(self, request: Request, site_id: str) -> ApiResponse:
        site = site_id if has_shape("site", site_id) else _UNKNOWN_SITE
        address = network_of(self._authenticator.client_address(request))
        await self._limit(f"hook:{address}:{site}", PER_ADDRESS_AND_SITE, f"hook:{address}", PER_ADDRESS)
        body = await request.body(MAX_BYTES)
        verification = payloads.verify_signature(await self._get_secret(site), request.header, body)
        if verification is None:
            raise HookRefused
        await self._limit(f"hook:{site}", PER_SITE, f"hook:{site}:all", PER_SITE)
        delivery = payloads.parse_delivery(request.header, body)
        digest = payloads.compute_digest(verification, request.header, body)
        decisions = await self._handler.handle(site, digest, delivery)
        return ApiResponse(202 if delivery.push else 200, wrap(decisions, request.id))

    async def _get_secret(self, site: str) -> bytes:
        """The site's secret, or a random one, so that an unknown site takes as long as a known one."""
        async with self._database.reading() as tx:
            secret = await service.get_hook_secret(tx, site, self._sealer)
        return secret or self._sealer.open(self._decoy, context=_DECOY_CONTEXT)

    async def _limit(self, first: str, first_limit: int, second: str, second_limit: int) -> None:
        wait = await self._limiter.spend_anonymous((first, first_limit), (second, second_limit))
        if wait:
            raise RateLimitExceeded(seconds=wait)
