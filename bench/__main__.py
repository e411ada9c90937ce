"""`python -m bench [NAME …]`: every benchmark, or the named ones; `--list` names them."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from bench import (
    api_reads,
    delivery,
    edge_change,
    edge_hosts,
    edge_serving,
    edge_tls,
    job_start,
    list_depth,
    packing,
    webhook_delivery,
)
from bench.results import CouldNotRun, Result
from bench.servers import Bench, bench
from stead.dev.errors import DevError

BENCHMARKS: dict[str, Callable[[Bench], Awaitable[Result]]] = {
    "api_read_cpu_ratio": api_reads.one,
    "api_list_cpu_ratio": api_reads.page,
    "list_depth_ratio": list_depth.depth,
    "job_start_ratio": job_start.ratio,
    "edge_static_cpu_ratio": edge_serving.static,
    "edge_cached_cpu_ratio": edge_serving.cached,
    "edge_tls_handshake_ratio": edge_tls.handshake,
    "edge_million_hosts": edge_hosts.million,
    "edge_change_p99_ms": edge_change.p99,
    "webhook_delivery_cpu_ratio": webhook_delivery.ratio,
    "pack_mb_s": packing.ratio,
    "deploy_overhead_ratio": delivery.overhead,
    "rollback_ms": delivery.rollback,
}


async def _run(names: list[str]) -> int:
    failed = 0
    async with bench() as engines:
        for name in names:
            try:
                result = await BENCHMARKS[name](engines)
            except (CouldNotRun, DevError) as reason:
                failed = 1
                print(f"{name} could not run: {reason}", file=sys.stderr)
            else:
                print(*result.lines(name), sep="\n", flush=True)
    return failed


def main() -> int:
    wanted = sys.argv[1:]
    if wanted == ["--list"]:
        print(*BENCHMARKS, sep="\n")
        return 0
    unknown = [name for name in wanted if name not in BENCHMARKS]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    try:
        return asyncio.run(_run(wanted or list(BENCHMARKS)))
    except (CouldNotRun, DevError) as reason:
        print(f"could not run: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
