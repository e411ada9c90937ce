"""A new vulnerability feed, matched with the components of all sites. `STEAD_BENCH_SITES` is their number."""

import json
import os
import resource
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg

from bench.results import Result
from bench.servers import Bench
from stead.control.engines.postgres import Database
from stead.control.vulnerabilities import updating
from stead.shared.component_versions import version_key

SITES, COMPONENTS, RECORDS = 100_000, 30, 50_000
SLUGS, VERSIONS = 5_000, 20
GOAL = 60


async def match_feed(bench: Bench) -> Result:
    sites = int(os.environ.get("STEAD_BENCH_SITES") or SITES)
    async with bench.copied_database("feeds") as url:
        await bench.add_others(url, owners=1000, sites=sites)
        await _add_components(url)
        database = Database(url, clock=lambda: datetime.now(UTC), timeout=120)
        try:
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                _write_feed(file.name)
                size = Path(file.name).stat().st_size  # noqa: ASYNC240
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                began = time.monotonic()
                await updating.update(database, file.name, "")
                read = time.monotonic() - began
                while await _match(database):
                    pass
                matched = time.monotonic() - began
            memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
            async with database.reading() as tx:
                findings = await tx.value("select count(*) from vulnerability_findings")
                components = await tx.value("select count(*) from site_components")
        finally:
            await database.close()
    return Result(
        matched,
        GOAL,
        [
            f"{RECORDS} records, {size >> 20} MB; {sites} sites with {components} components",
            f"read and stored after {read:.1f} s; {findings} findings; {memory} MB more memory",
        ],
    )


async def _match(database: Database) -> int:
    async with database.transaction() as tx:
        return await updating.match(tx)


async def _add_components(url: str) -> None:
    """Every site has other components. A third of them is in the feed, and a part of those is affected."""
    connection = await asyncpg.connect(url, timeout=120)
    try:
        rows = [
            ("plugin", f"plugin-{slug}", version, version_key(version))
            for slug in range(SLUGS)
            for version in (f"{number // 4}.{number % 4}" for number in range(VERSIONS))
        ]
        await connection.copy_records_to_table(
            "component_versions", records=rows, columns=["type", "slug", "version", "key"]
        )
        await connection.execute(
            "insert into site_components (env_id, version_id, site_id, name)"
            " select e.id, 1 + (e.n * 7919 + k * 3331) % $1, e.site_id, 'A Plugin'"
            " from (select id, site_id, row_number() over () as n from environments) e,"
            " generate_series(1, $2) k on conflict do nothing",
            *(SLUGS * VERSIONS, COMPONENTS),
            timeout=600,
        )
        await connection.execute("vacuum analyze", timeout=600)
    finally:
        await connection.close()


def _write_feed(path: str) -> None:
    with Path(path).open("w") as file:
        file.write("{")
        for number in range(RECORDS):
            text = json.dumps({f"r{number}": _build_record(number)})[1:-1]
            file.write(f"{',' if number else ''}{text}")
        file.write("}")


def _build_record(number: int) -> dict[str, Any]:
    """As large as those of the real feed."""
    return {
        "id": f"r{number}",
        "title": f"A Plugin <= 0.{number % 4} - Something",
        "description": "What happened. " * 150,
        "software": [
            {
                "type": "plugin",
                "name": "A Plugin",
                "slug": f"plugin-{number % (SLUGS * 3)}",
                "affected_versions": {
                    f"* - 0.{number % 4}": {
                        "from_version": "*",
                        "from_inclusive": True,
                        "to_version": f"0.{number % 4}",
                        "to_inclusive": True,
                    }
                },
                "patched": True,
                "patched_versions": ["1.0"],
            }
        ],
        "references": [f"https://www.wordfence.com/{number}"],
        "copyrights": {"message": "m", "defiant": {"notice": "n" * 200, "license": "l" * 300}},
        "cvss": {"vector": "", "score": 9.8, "rating": "Critical"},
        "cve": f"CVE-2026-{number}",
    }
