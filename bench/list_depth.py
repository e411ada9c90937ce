"""Whether a page deep in a long list costs what the first one costs."""

from statistics import median
from urllib.parse import quote

import httpx

from bench.load import Subject, latency_ratios, paired
from bench.results import CouldNotRun, Result, spread
from bench.servers import Account, Bench, Server

KEYS = 1_000_000
DEPTH = 1_000
LIST = "/v1/api-keys?limit=50"


async def depth(bench: Bench) -> Result:
    account = await bench.account("collector", keys=KEYS)
    api = await bench.api()
    try:
        cursor = await _cursor_of_page(DEPTH, api, account)
        deep = Subject(f"page {DEPTH}", f"{api.url}{LIST}&cursor={quote(cursor)}", api.pid, account.api_key)
        first = Subject("page 1", api.url + LIST, api.pid, account.api_key)
        await paired(deep, first, connections=1)
    finally:
        await api.stop()
        await bench.forget_keys()
    ratios = latency_ratios(deep, first)
    return Result(median(ratios), 1.2, [f"ratio {spread(ratios)}", deep.summary(), first.summary()])


async def _cursor_of_page(number: int, api: Server, account: Account) -> str:
    """Walk there, as a client would."""
    headers = {"Authorization": f"Bearer {account.api_key}"}
    async with httpx.AsyncClient(base_url=api.url, headers=headers) as client:
        cursor = ""
        for _ in range(number - 1):
            answer = await client.get(LIST, params={"limit": 50} | ({"cursor": cursor} if cursor else {}))
            cursor = answer.json()["pagination"]["next_cursor"]
    if not cursor:
        raise CouldNotRun(f"the list ends before page {number}")
    return str(cursor)
