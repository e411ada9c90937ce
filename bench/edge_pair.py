"""The whole edge as operators run it, and as its baseline a bare nginx that serves one directory."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.load import server_core
from bench.results import CouldNotRun
from stead.dev.ports import reserve_ports
from stead.dev.supervised_program import LOOPBACK, clean_environment
from stead.edge.admin import AdminFailed, EdgeAdmin
from stead.edge.certificate import make_self_signed
from stead.edge.main import NGINX
from stead.protocol.edge_records import EnvironmentRecord, HostRecord, RecordLine

READY_TIMEOUT = 60.0
NODE = "node-a"
HOST = "site.test"
PAGE = ("<!doctype html><title>A page</title>" + "<p>Some words of a usual page.</p>" * 120).encode()
USER = "www-data" if os.geteuid() == 0 else ""
_ROOT = Path(__file__).parents[1]

BARE = """daemon off; worker_processes 1; pid {home}/bare.pid; error_log stderr warn; {user}
events {{ worker_connections 4096; }}
http {{
    include /etc/nginx/mime.types; access_log off; sendfile on; tcp_nopush on; server_tokens off;
    keepalive_requests 100000;
    {temporary}
    proxy_cache_path {home}/bare-pages keys_zone=bare:8m use_temp_path=off;
    server {{
        listen {address}:{port} backlog=4096; listen {address}:{secure} ssl http2;
        ssl_certificate {home}/bare.crt; ssl_certificate_key {home}/bare.key;
        ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:tls:16m; ssl_session_tickets on;
        root {home}/releases/bare;
        location /cached/ {{
            proxy_pass http://unix:{home}/origin.sock:; proxy_cache bare; proxy_cache_valid 200 1h;
        }}
    }}
    server {{
        listen unix:{home}/origin.sock; root {home}/releases/bare;
        location / {{ try_files /index.html =404; }}
    }}
}}
"""


class EdgePair:
    def __init__(self, home: Path, ports: list[int]) -> None:
        self.home = home
        self.port, self.secure, self.bare_port, self.bare_secure = ports
        self.admin = EdgeAdmin(home / "run" / "private" / "admin.sock")
        self.revision = 0
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def bare_url(self) -> str:
        return f"http://{LOOPBACK}:{self.bare_port}"

    @property
    def pid(self) -> int:
        return self._processes[0].pid

    @property
    def bare_pid(self) -> int:
        return self._processes[1].pid

    async def start(self, memory: dict[str, str]) -> None:
        environment = {
            "STEAD_NODE_ID": NODE,
            "STEAD_NODE_DATA": str(self.home),
            "STEAD_EDGE_HTTP": f"{LOOPBACK}:{self.port}",
            "STEAD_EDGE_HTTPS": f"{LOOPBACK}:{self.secure}",
            "STEAD_EDGE_USER": USER,
            "STEAD_EDGE_WORKERS": "1",
        }
        for name in ("site", "bare"):
            release = self.home / "releases" / name
            release.mkdir(parents=True)
            (release / "index.html").write_bytes(PAGE)
        self._spawn([sys.executable, "-m", "stead.steadctl", "edge"], environment | memory)
        self._start_bare()
        deadline = time.monotonic() + READY_TIMEOUT
        while True:
            try:
                await self.admin.state()
            except AdminFailed:
                if time.monotonic() > deadline or self._processes[0].poll() is not None:
                    raise CouldNotRun("the edge did not start") from None
                await asyncio.sleep(0.1)
            else:
                break
        await self.apply_record("environment", "env_site", EnvironmentRecord("site_x", NODE, release="site"))
        await self.apply_record("host", HOST, HostRecord("env_site"))
        await self.admin.complete()

    def line(self, kind: Any, name: str, value: Any) -> RecordLine:
        self.revision += 1
        return RecordLine(kind, name, self.revision, msgspec.to_builtins(value))

    async def apply_record(self, kind: str, name: str, value: Any) -> None:
        await self.admin.apply([self.line(kind, name, value)])

    async def stop(self) -> None:
        await self.admin.close()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(30)

    def _start_bare(self) -> None:
        chain, key = make_self_signed(HOST)
        (self.home / "bare.crt").write_bytes(chain)
        (self.home / "bare.key").write_bytes(key)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        config = BARE.format(
            home=self.home,
            address=LOOPBACK,
            port=self.bare_port,
            secure=self.bare_secure,
            user=f"user {USER};" if USER else "",
            temporary=" ".join(f"{kind}_temp_path {self.home}/bare-{kind};" for kind in kinds),
        )
        (self.home / "bare.conf").write_text(config)
        self._spawn([str(NGINX), "-c", str(self.home / "bare.conf"), "-e", "stderr"], {})

    def _spawn(self, argv: list[str], environment: dict[str, str]) -> None:
        with (self.home / "servers.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [*server_core(), *argv],
                    env=clean_environment(environment),
                    cwd=_ROOT,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )


def _create_scratch() -> Path:
    path = Path(tempfile.mkdtemp(prefix="stead-edge-"))
    path.chmod(0o711)
    return path


@asynccontextmanager
async def run_edge_pair(**memory: str) -> AsyncIterator[EdgePair]:
    home = _create_scratch()
    pair = EdgePair(home, reserve_ports(4))
    try:
        await pair.start(memory)
        yield pair
    finally:
        await pair.stop()
        shutil.rmtree(home, ignore_errors=True)
