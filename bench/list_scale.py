"""Compares the first page of a list among a million sites with the same page in a database without others."""

from statistics import median

from bench.load import Subject, latency_ratios, measure_pairs
from bench.results import Result, spread
from bench.servers import Bench

SITES_OF_OTHERS = 1_000_000
OWNERS = 100_000
OWN_SITES = 50
LIST = "/v1/sites?limit=50"


async def compare_sizes(bench: Bench) -> Result:
    account = await bench.create_account("reader", keys=0)
    await bench.add_sites(account.account_id, OWN_SITES)
    async with bench.copied_database("crowded") as crowded:
        await bench.add_others(crowded, owners=OWNERS, sites=SITES_OF_OTHERS)
        large, small = await bench.start_api(crowded), await bench.start_api()
        measured = Subject("1,000,000 sites", large.url + LIST, large.pid, account.api_key)
        base = Subject("own sites only", small.url + LIST, small.pid, account.api_key)
        try:
            await measure_pairs(measured, base, connections=1)
        finally:
            await large.stop()
            await small.stop()
    await bench.delete_accounts()
    ratios = latency_ratios(measured, base)
    return Result(median(ratios), 1.2, [f"ratio {spread(ratios)}", measured.summary(), base.summary()])
