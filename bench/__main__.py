"""`python -m bench [NAME …]` runs all benchmarks, or the named ones. `--list` prints their names."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from bench import (
    api_reads,
    backups,
    cli_start,
    cms,
    cms_pages,
    cms_questions,
    cms_work,
    delivery,
    dns_zones,
    edge_certificates,
    edge_change,
    edge_hosts,
    edge_rules,
    edge_serving,
    edge_tls,
    functions,
    insights,
    job_start,
    list_depth,
    list_scale,
    packing,
    scanning,
    sftp,
    vulnerabilities,
    webhook_delivery,
)
from bench.results import CouldNotRun, Result
from bench.servers import Bench, run_bench
from stead.dev.errors import DevError

BENCHMARKS: dict[str, Callable[[Bench], Awaitable[Result]]] = {
    "api_read_cpu_ratio": api_reads.read_one,
    "api_list_cpu_ratio": api_reads.read_page,
    "list_depth_ratio": list_depth.compare_pages,
    "lists_at_scale_ratio": list_scale.compare_sizes,
    "job_start_ratio": job_start.compare_starts,
    "edge_static_cpu_ratio": edge_serving.serve_static,
    "edge_rules_ratio": edge_rules.serve_with_rules,
    "edge_cached_cpu_ratio": edge_serving.serve_cached,
    "edge_tls_handshake_ratio": edge_tls.compare_handshakes,
    "edge_million_hosts": edge_hosts.serve_million_hosts,
    "edge_certificate_lookup_ratio": edge_certificates.look_up_certificates,
    "edge_change_p99_ms": edge_change.measure_changes,
    "cms_page_cpu_ratio": cms_pages.serve_page,
    "webhook_delivery_cpu_ratio": webhook_delivery.compare_deliveries,
    "pack_mb_s": packing.compare_packing,
    "deploy_overhead_ratio": delivery.compare_builds,
    "rollback_ms": delivery.measure_rollbacks,
    "cms_idle_mb": cms.measure_idle,
    "cms_wake_ms": cms.measure_wakes,
    "cms_density": cms.measure_density,
    "ask_ms": cms_questions.measure_answers,
    "dns_zones_ratio": dns_zones.compare_sizes,
    "clone_ratio": cms_work.compare_copies,
    "backup_ratio": backups.compare_backups,
    "restore_ratio": backups.compare_restores,
    "exec_ratio": cms_work.compare_commands,
    "function_cpu_ratio": functions.reuse,
    "function_fresh_ms": functions.fresh,
    "function_cold_ms": functions.cold,
    "function_density": functions.density,
    "sftp_mb_s": sftp.compare_transfers,
    "ingest_cpu_ratio": insights.compare_ingestion,
    "insights_p50_ms": insights.measure_views,
    "scan_files_per_minute": scanning.measure_scans,
    "scan_visitor_p99_ratio": scanning.compare_visitors,
    "feed_match_s": vulnerabilities.match_feed,
    "cli_start_ratio": cli_start.compare_starts,
    "cli_connected_ratio": cli_start.compare_connections,
}


async def _run(names: list[str]) -> int:
    failed = 0
    async with run_bench() as bench:
        for name in names:
            try:
                result = await BENCHMARKS[name](bench)
            except (CouldNotRun, DevError) as reason:
                failed = 1
                print(f"{name} could not run: {reason}", file=sys.stderr)
            else:
                print(*result.lines(name), sep="\n", flush=True)
    return failed


def main() -> int:
    chosen = sys.argv[1:]
    if chosen == ["--list"]:
        print(*BENCHMARKS, sep="\n")
        return 0
    unknown = [name for name in chosen if name not in BENCHMARKS]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    try:
        return asyncio.run(_run(chosen or list(BENCHMARKS)))
    except (CouldNotRun, DevError) as reason:
        print(f"could not run: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
