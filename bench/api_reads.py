"""The CPU cost of an API read: authentication, limits, tenancy, envelope, headers and log."""

from statistics import median

from bench.load import Subject, cpu_ratios, measure_pairs
from bench.results import Result, spread
from bench.servers import Bench

KEYS = 200
SOME_KEY = f"key_{100:026x}"


async def read_one(bench: Bench) -> Result:
    return await _compare(bench, f"/v1/api-keys/{SOME_KEY}", f"/key/{SOME_KEY}", goal=1.4)


async def read_page(bench: Bench) -> Result:
    return await _compare(bench, "/v1/api-keys?limit=50", "/keys", goal=1.3)


async def _compare(bench: Bench, path: str, bare_path: str, *, goal: float) -> Result:
    account = await bench.create_account("reader", keys=KEYS)
    api, bare = await bench.start_api(), await bench.start_bare_handler(account)
    measured = Subject("stead", api.url + path, api.pid, account.api_key)
    base = Subject("bare", bare.url + bare_path, bare.pid)
    try:
        await measure_pairs(measured, base)
    finally:
        await api.stop()
        await bare.stop()
        await bench.delete_accounts()
    ratios = cpu_ratios(measured, base)
    return Result(median(ratios), goal, [f"ratio {spread(ratios)}", measured.summary(), base.summary()])
