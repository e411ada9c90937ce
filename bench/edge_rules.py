"""The CPU cost of the pages of a site with many rules in its files."""

from pathlib import Path
from statistics import median

from bench.edge_pair import NODE, PAGE, EdgePair, run_edge_pair
from bench.load import Subject, cpu_ratios, measure_pairs
from bench.results import Result, spread
from bench.servers import Bench
from stead.artifacts.site_rules.compiler import compile_rules, read_rules
from stead.protocol.edge_records import EnvironmentRecord, HostRecord

HEADER_RULES, REDIRECTS = 1000, 5000
PAGES = 10_000
"""More than a worker could remember one by one. A tenth of them has a header rule of its own."""
_SCRIPT = f"""
local n = 0
request = function()
  n = (n + 7919) % {PAGES}
  return wrk.format("GET", "/section/page-" .. n)
end
"""


async def serve_with_rules(_: Bench) -> Result:
    async with run_edge_pair() as pair:
        script = pair.home / "pages.lua"
        script.write_text(_SCRIPT)
        subjects = []
        for name, with_rules in (("with rules", True), ("without rules", False)):
            host = await _add_site(pair, name.replace(" ", "-"), with_rules=with_rules)
            subjects.append(Subject(name, f"{pair.url}/", pair.pid, host=host, script=script))
        measured, base = subjects
        await measure_pairs(measured, base)
    ratios = cpu_ratios(measured, base)
    details = [f"ratio over {PAGES} pages {spread(ratios)}", measured.summary(), base.summary()]
    return Result(median(ratios), 1.1, details)


async def _add_site(pair: EdgePair, name: str, *, with_rules: bool) -> str:
    """Returns its host."""
    release = pair.home / "releases" / name
    (release / "section").mkdir(parents=True)
    first = release / "section" / "page-0.html"
    first.write_bytes(PAGE)
    for number in range(1, PAGES):
        # One file with many names: the pages of a real site would fill the disk and the cache of the machine.
        (release / "section" / f"page-{number}.html").hardlink_to(first)
    if with_rules:
        _write_rules(pair.home, release)
    await pair.apply_record(
        "environment", f"env_{name}", EnvironmentRecord(f"site_{name}", NODE, release=name)
    )
    await pair.apply_record("host", f"{name}.test", HostRecord(f"env_{name}"))
    return f"{name}.test"


def _write_rules(home: Path, release: Path) -> None:
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
    compiled = home / "release-rules"
    compiled.mkdir()
    (compiled / f"{release.name}.json").write_bytes(compile_rules(rules) or b"")
