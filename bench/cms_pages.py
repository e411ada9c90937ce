"""The CPU cost of a WordPress page that is not in the cache: through the edge, and through a bare nginx in
front of the same PHP-FPM."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx

from bench.edge_pair import USER
from bench.load import Subject, cpu_ratios, measure_pairs
from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.dev.ports import reserve_ports
from stead.dev.supervised_program import LOOPBACK, clean_environment
from stead.edge.main import NGINX
from stead.node.containers import cgroups
from stead.protocol.edge_records import EnvironmentRecord, FirewallMode
from tests.node.wordpress.wordpress_node import Site, start_wordpress_node

ROUNDS, SECONDS, CONNECTIONS = 7, 3, 4
GOAL, GOAL_WITH_FIREWALL = 1.25, 1.5
READY_SECONDS = 30.0
BARE = """daemon off; worker_processes 1; pid {home}/bare.pid; error_log stderr warn; {user}
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 100000; {temporary}
    server {{
        listen {address}:{port};
        location / {{
            fastcgi_pass unix:{socket};
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_NAME /index.php;
            fastcgi_param SCRIPT_FILENAME /srv/site/index.php;
            fastcgi_param DOCUMENT_ROOT /srv/site;
        }}
    }}
}}
"""


async def serve_page(_: Bench) -> Result:
    """The value is without the firewall; the details have the ratio with it."""
    async with start_wordpress_node() as node:
        site = await node.create(workers=CONNECTIONS, memory_mb=512, cpus=2.0)
        with bare_nginx(site) as (bare_url, bare_pid):
            await wait_for_page(bare_url, site.host)
            results = {}
            modes: tuple[FirewallMode, ...] = ("off", "on")
            for mode in modes:
                await set_firewall(site, mode)
                url = f"http://{LOOPBACK}:{node.edge.port}/"
                container = container_time(site)
                measured = Subject(
                    f"edge, firewall {mode}", url, node.edge.pid, host=site.host, more=container
                )
                base = Subject("bare nginx", bare_url, bare_pid, host=site.host, more=container)
                await measure_pairs(measured, base, rounds=ROUNDS, seconds=SECONDS, connections=CONNECTIONS)
                results[mode] = (cpu_ratios(measured, base), measured.summary(), base.summary())
    (ratios, *details), (with_firewall, *more) = results["off"], results["on"]
    return Result(
        median(ratios),
        GOAL,
        [
            f"ratio {spread(ratios)}",
            *details,
            f"with the firewall: {spread(with_firewall)}, goal {GOAL_WITH_FIREWALL}",
            *more,
        ],
    )


async def set_firewall(site: Site, mode: FirewallMode) -> None:
    record = EnvironmentRecord("site_x", site.node.edge.node, runtime="cms", waf=mode, cache_ttl=0)
    await site.node.edge.tell("environment", site.environment, record)


def container_time(site: Site) -> Callable[[], int]:
    """Reads the CPU time of PHP, also of workers that have ended."""
    group = site.hosted.plan.container.cgroup.strip("/")
    one_tree, separate = cgroups.ROOT / group / "cpu.stat", cgroups.ROOT / "cpuacct" / group / "cpuacct.usage"

    def read() -> int:
        if separate.exists():
            return int(separate.read_text())
        return 1000 * int(dict(line.split() for line in one_tree.read_text().splitlines())["usage_usec"])

    return read


@contextmanager
def bare_nginx(site: Site) -> Iterator[tuple[str, int]]:
    (port,) = reserve_ports(1)
    home = site.node.data / "bare"
    home.mkdir()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    config = BARE.format(
        home=home,
        address=LOOPBACK,
        port=port,
        socket=site.paths.socket,
        user=f"user {USER};" if USER else "",
        temporary=" ".join(f"{kind}_temp_path {home}/{kind};" for kind in kinds),
    )
    (home / "bare.conf").write_text(config)
    argv = [str(NGINX), "-c", str(home / "bare.conf"), "-e", "stderr"]
    with (Path(home) / "log").open("wb") as log:
        process = subprocess.Popen(argv, env=clean_environment({}), stdout=log, stderr=log)
    try:
        yield f"http://{LOOPBACK}:{port}/", process.pid
    finally:
        process.terminate()
        process.wait(30)


async def wait_for_page(url: str, host: str) -> None:
    async with httpx.AsyncClient(timeout=READY_SECONDS) as client:
        for _ in range(int(READY_SECONDS / 0.1)):
            try:
                response = await client.get(url, headers={"host": host})
            except httpx.TransportError:
                await asyncio.sleep(0.1)
                continue
            if response.status_code == 200:
                return
            break
    raise CouldNotRun("the page of WordPress is not served by the bare nginx")
