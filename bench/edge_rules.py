"""The CPU cost of a page of a site with many rules in its files."""

from statistics import median

from bench.edge_pair import HOST, NODE, PAGE, run_edge_pair
from bench.load import Subject, cpu_ratios, measure_pairs
from bench.results import Result, spread
from bench.servers import Bench
from stead.artifacts.site_rules.compiler import compile_rules, read_rules
from stead.protocol.edge_records import EnvironmentRecord, HostRecord

HEADER_RULES, REDIRECTS = 1000, 5000
RULED = "ruled.test"


async def serve_with_rules(_: Bench) -> Result:
    async with run_edge_pair() as pair:
        release = pair.home / "releases" / "ruled"
        release.mkdir()
        (release / "index.html").write_bytes(PAGE)
        redirects = [
            f"/old/section-{number % 50}/page-{number} /new/{number} 301" for number in range(REDIRECTS - 100)
        ]
        redirects += [f"/blog-{number}/* /archive-{number}/:splat 301!" for number in range(50)]
        redirects += [f"/shop-{number}/:id /products/:id?from={number} 302" for number in range(50)]
        headers = [f"/section/page-{number}\n  X-Page: {number}\n" for number in range(HEADER_RULES - 1)]
        headers.append("/*\n  Permissions-Policy: camera=()\n")
        (release / "_redirects").write_text("\n".join(redirects))
        (release / "_headers").write_text("".join(headers))
        rules = read_rules(release)
        assert (len(rules.redirects), len(rules.headers)) == (REDIRECTS, HEADER_RULES)
        (pair.home / "release-rules").mkdir()
        (pair.home / "release-rules" / "ruled.json").write_bytes(compile_rules(rules) or b"")
        await pair.apply_record(
            "environment", "env_ruled", EnvironmentRecord("site_r", NODE, release="ruled")
        )
        await pair.apply_record("host", RULED, HostRecord("env_ruled"))
        measured = Subject("with rules", f"{pair.url}/", pair.pid, host=RULED)
        base = Subject("without rules", f"{pair.url}/", pair.pid, host=HOST)
        await measure_pairs(measured, base)
    ratios = cpu_ratios(measured, base)
    return Result(median(ratios), 1.1, [f"ratio {spread(ratios)}", measured.summary(), base.summary()])
