"""Compares the latency of a page deep in a long list with that of the first page."""

from statistics import median
from urllib.parse import quote

import httpx

from bench.load import Subject, latency_ratios, measure_pairs
from bench.results import CouldNotRun, Result, spread
from bench.servers import Account, Bench, Server

KEYS = 1_000_000
DEPTH = 1_000
LIST = "/v1/api-keys?limit=50"


async def compare_pages(bench: Bench) -> Result:
    account = await bench.create_account("collector", keys=KEYS)
    api = await bench.start_api()
    try:
        cursor = await _find_cursor(DEPTH, api, account)
        deep = Subject(f"page {DEPTH}", f"{api.url}{LIST}&cursor={quote(cursor)}", api.pid, account.api_key)
        first = Subject("page 1", api.url + LIST, api.pid, account.api_key)
        await measure_pairs(deep, first, connections=1)
    finally:
        await api.stop()
        await bench.delete_accounts()
    ratios = latency_ratios(deep, first)
    return Result(median(ratios), 1.2, [f"ratio {spread(ratios)}", deep.summary(), first.summary()])


async def _find_cursor(number: int, api: Server, account: Account) -> str:
    """Follows the cursors from page to page, as a client would."""
    headers = {"Authorization": f"Bearer {account.api_key}"}
    async with httpx.AsyncClient(base_url=api.url, headers=headers) as client:
        cursor = ""
        for _ in range(number - 1):
            response = await client.get(LIST, params={"limit": 50} | ({"cursor": cursor} if cursor else {}))
            cursor = response.json()["pagination"]["next_cursor"]
    if not cursor:
        raise CouldNotRun(f"the list ends before page {number}")
    return str(cursor)
