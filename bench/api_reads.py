"""What authentication, limits, tenancy, envelope, headers and log add to the cost of a read."""

from statistics import median

from bench.load import Subject, cpu_ratios, paired
from bench.results import Result, spread
from bench.servers import Bench

KEYS = 200
SOME_KEY = f"key_{100:026x}"


async def one(bench: Bench) -> Result:
    return await _compare(bench, f"/v1/api-keys/{SOME_KEY}", f"/key/{SOME_KEY}", goal=1.4)


async def page(bench: Bench) -> Result:
    return await _compare(bench, "/v1/api-keys?limit=50", "/keys", goal=1.3)


async def _compare(bench: Bench, ours: str, theirs: str, *, goal: float) -> Result:
    account = await bench.account("reader", keys=KEYS)
    api, bare = await bench.api(), await bench.bare(account)
    measured = Subject("stead", api.url + ours, api.pid, account.api_key)
    base = Subject("bare", bare.url + theirs, bare.pid)
    try:
        await paired(measured, base)
    finally:
        await api.stop()
        await bare.stop()
        await bench.forget_keys()
    ratios = cpu_ratios(measured, base)
    return Result(median(ratios), goal, [f"ratio {spread(ratios)}", measured.summary(), base.summary()])
