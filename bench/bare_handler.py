"""The baseline for the API: an ASGI handler that runs one query and nothing else.

It has no credentials, limits, tenants, envelope or log. `uvicorn` and its settings are the same as those of
the API, and so are the rows, the columns and the JSON. Its pool does not reset connections between uses,
which saves a round trip: the comparison is deliberately strict.

    python -m bench.bare_handler DATABASE_URL PORT ACCOUNT_ID
"""

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import datetime
from typing import Any

import asyncpg
import msgspec
import uvicorn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

POOL = 16
ONE = (
    "select id, name, 'stead_' || mode, last4, scopes, pin_id, ip_allowlist, expires_at, last_used_at,"
    " revoked_at, created_at from api_keys where id = $1"
)
PAGE = (
    "select id, name, 'stead_' || mode, last4, scopes, pin_id, ip_allowlist, expires_at, last_used_at,"
    " revoked_at, created_at from api_keys where account_id = $1 order by id desc limit 50"
)
_ONE_PATH = "/key/"

encode = msgspec.json.Encoder().encode


class Row(msgspec.Struct):
    id: str
    name: str | None
    prefix: str
    last4: str
    scopes: list[str]
    resource: str | None
    ip_allowlist: list[str]
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime


class UnresetConnection(asyncpg.Connection):
    def get_reset_query(self) -> str:
        return ""


class BareHandler:
    def __init__(self, database_url: str, account: str) -> None:
        self._url, self._account = database_url, account
        self._pool: Any = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        path = scope["path"]
        if path.startswith(_ONE_PATH):
            body = encode(Row(*await self._pool.fetchrow(ONE, path[len(_ONE_PATH) :])))
        else:
            body = encode([Row(*record) for record in await self._pool.fetch(PAGE, self._account)])
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=POOL,
            max_size=POOL,
            connection_class=UnresetConnection,
            server_settings={"jit": "off"},
        )
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._pool.close()
        await send({"type": "lifespan.shutdown.complete"})


def main() -> None:
    database_url, port, account = sys.argv[1:]
    uvicorn.run(
        BareHandler(database_url, account),
        host="127.0.0.1",
        port=int(port),
        loop="uvloop",
        http="httptools",
        lifespan="on",
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
    )


if __name__ == "__main__":
    main()
