"""What functions cost: a request to a reused instance, to a fresh one and to one that does not run, and a
thousand functions in rotation. Needs root and the image `functions`."""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from bench.edge_pair import NODE, EdgePair, run_edge_pair
from bench.load import Subject, measure_pairs, server_core
from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.dev.ports import reserve_ports
from stead.dev.supervised_program import LOOPBACK
from stead.node.builds.function_builder import TOOLCHAIN
from stead.node.containers import cgroups
from stead.node.functions import places
from stead.node.functions.container import default_memory_mb
from stead.node.functions.sandbox.guest import Program, compile_function, new_engine
from stead.node.images.image_store import ImageStore
from stead.node.images.recipe import ImageUnavailable
from stead.protocol.edge_records import EnvironmentRecord, FunctionRoute, HostRecord
from tests.node.functions.hosting import Hosting, hosting
from tests.percentiles import p99

HOST = "functions.test"
ROUNDS = 7
FUNCTIONS = int(os.environ.get("STEAD_BENCH_FUNCTIONS", "1000"))
LIMITS = {"STEAD_EDGE_ADDRESS_RATE": "1000000", "STEAD_EDGE_ADDRESS_AT_ONCE": "1000"}
"""All visitors have the same address."""
HANDLER = """
export default {
  async fetch(request) {
    const url = new URL(request.url);
    return Response.json({ path: url.pathname, agent: request.headers.get("user-agent") });
  },
};
"""
REQUEST = json.dumps(
    {"method": "GET", "url": f"https://{HOST}/_fn/a", "headers": [["host", HOST]], "body": ""}
).encode()


@dataclass
class FunctionBench:
    pair: EdgePair
    host: Hosting
    module: bytes
    revision: int = 0
    compiled: str = ""

    async def serve(self, path: str, **settings: Any) -> str:
        """A version of the handler, and its record at the edge. The first one is compiled."""
        spec = await self.host.serve(self.module, wall_ms=5000, same_as=self.compiled, **settings)
        self.compiled = spec.version
        route = FunctionRoute(path, spec.version, 1_000_000, 1 << 20)
        record = EnvironmentRecord(
            "site_fn", NODE, runtime="wasm", release=f"fn{self.revision}", functions=(route,)
        )
        self.revision += 1
        await self.pair.apply_record("environment", "env_fn", record)
        await self.pair.apply_record("host", HOST, HostRecord("env_fn"))
        return spec.version

    def processes(self) -> set[int]:
        """Those in the container of functions."""
        return cgroups.processes(self.host.cgroup)

    def cpu(self) -> int:
        return sum(map(_threads_cpu, (*self.processes(), os.getpid())))


def _threads_cpu(pid: int) -> int:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)
    except OSError:
        return 0


def _memory(pid: int) -> int:
    """Its part of what processes share is included."""
    try:
        return int(psutil.Process(pid).memory_full_info().pss)
    except psutil.Error:
        return 0


@asynccontextmanager
async def _prepare(most_workers: int = 32) -> AsyncIterator[FunctionBench]:
    if os.geteuid() != 0:
        raise CouldNotRun("containers need root")
    async with run_edge_pair(**LIMITS) as pair:
        module = await asyncio.to_thread(_build)
        async with hosting(pair.home, most_workers=most_workers, memory_mb=default_memory_mb()) as host:
            yield FunctionBench(pair, host, module)


def _build() -> bytes:
    """The handler as a component, with the toolchain of the image."""
    try:
        root = ImageStore().find("functions").root
    except ImageUnavailable as unavailable:
        raise CouldNotRun(str(unavailable)) from None
    with tempfile.TemporaryDirectory(prefix="stead-bench-") as scratch:
        home = Path(scratch)
        (home / "node_modules").symlink_to(root / "opt/node_modules")
        shutil.copytree(TOOLCHAIN, home / "toolchain")
        (home / "handler.js").write_text(HANDLER)
        argv = [
            root / "usr/local/bin/node",
            home / "toolchain/build.mjs",
            home / "handler.js",
            home / "made.wasm",
        ]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise CouldNotRun(f"the handler could not be built: {done.stderr}")
        return (home / "made.wasm").read_bytes()


def _bare_call(module: bytes, rounds: int = 5, calls: int = 400) -> list[float]:
    """The CPU time of the call of a reused instance and nothing else, in microseconds."""
    engine = new_engine()
    with tempfile.NamedTemporaryFile() as file:
        file.write(compile_function(engine, module))
        file.flush()
        program = Program(engine, file.name, 64 << 20, component=True)
        guest = program.start(lambda *_: json.dumps({"ok": {"variables": {}, "bindings": {}}}), 60)
    found = []
    for _ in range(rounds + 1):
        guest.set_deadline(600)
        began = time.process_time()
        for _ in range(calls):
            guest.call(REQUEST)
        found.append((time.process_time() - began) / calls * 1e6)
    return found[1:]


async def reuse(_: Bench) -> Result:
    """Compares a request through the edge, with all processes that handle it, with the bare call."""
    async with _prepare() as bench:
        await bench.serve("/_fn/a")
        bare = await asyncio.to_thread(_bare_call, bench.module)
        url = f"{bench.pair.url}/_fn/a"
        measured = Subject("function", url, bench.pair.pid, host=HOST, more=bench.cpu)
        static = Subject("bare nginx, file", f"{bench.pair.bare_url}/", bench.pair.bare_pid)
        await measure_pairs(measured, static, rounds=ROUNDS, connections=4)
        again = await asyncio.to_thread(_bare_call, bench.module)
        reference = await _measure_workerd()
    call = median([*bare, *again])
    total = [sample.cpu for sample in measured.samples]
    details = [
        f"ratio {spread([each / call for each in total])}",
        f"{measured.summary()}; goal 250 µs",
        f"bare call of wasmtime: {call:.0f} µs of CPU",
        reference,
    ]
    return Result(median(total) / call, 2.0, details)


async def fresh(_: Bench) -> Result:
    async with _prepare() as bench:
        await bench.serve("/_fn/a", fresh=True)
        times = await _visit(bench, 200)
        await bench.serve("/_fn/b")
        reused = await _visit(bench, 200, "/_fn/b")
    details = [
        f"p99 {p99(times):.2f} ms",
        f"a reused instance: {median(reused):.2f} ms, p99 {p99(reused):.2f} ms",
    ]
    return Result(median(times), 5.0, details)


async def cold(_: Bench) -> Result:
    """The first request after the processes of a version were ended, and after a deployment."""
    async with _prepare() as bench:
        after_eviction, after_deploy = [], []
        for _round in range(20):
            version = await bench.serve("/_fn/a")
            after_deploy += await _visit(bench, 1)
            await bench.host.end_processes(version)
            after_eviction += await _visit(bench, 1)
    details = [
        f"after an eviction: p99 {p99(after_eviction):.0f} ms",
        f"after a deployment: {median(after_deploy):.1f} ms, p99 {p99(after_deploy):.0f} ms",
    ]
    return Result(median(after_eviction), 50, details)


async def density(_: Bench) -> Result:
    """Requests that are refused while many functions are visited in turn."""
    async with _prepare(most_workers=256) as bench:
        # All versions share one compiled form; each has processes of its own. A site has 50 functions.
        versions = [
            await bench.serve(f"/_fn/{number}", site=f"site_{number // 50}") for number in range(FUNCTIONS)
        ]
        refused, times = 0, []
        for _round in range(2):
            for version in versions:
                began = time.perf_counter()
                status = await _ask_socket(places.socket_of(bench.host.data, version))
                times.append((time.perf_counter() - began) * 1000)
                refused += status != 200
        running = bench.processes()
        memory = sum(map(_memory, running)) / 1e6
    details = [
        f"{FUNCTIONS} functions, {len(running)} processes with {memory / max(1, len(running)):.1f} MB each,"
        f" {memory / FUNCTIONS:.2f} MB a function",
        f"a request: median {median(times):.0f} ms, p99 {p99(times):.0f} ms",
    ]
    return Result(refused, 0, details)


async def _ask_socket(path: Path) -> int:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b"GET / HTTP/1.1\r\nHost: functions.test\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1]) if answer else 0


async def _visit(bench: FunctionBench, count: int, path: str = "/_fn/a") -> list[float]:
    """Requests one after the other; their times in milliseconds."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection(LOOPBACK, bench.pair.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        times.append((time.perf_counter() - began) * 1000)
        writer.close()
        if b" 200 " not in answer[:20]:
            raise CouldNotRun(f"the function did not answer: {answer[:300]!r}")
    return times


_CAPNP = """using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (modules = [(name = "handler.js", esModule = embed "handler.js")],
    compatibilityDate = "2025-01-01"))],
  sockets = [(name = "http", address = "%s:%d", http = (), service = "main")],
);
"""


async def _measure_workerd() -> str:
    """The same handler in workerd, without an edge in front of it."""
    with tempfile.TemporaryDirectory(prefix="stead-workerd-") as scratch:
        home, (port,) = Path(scratch), reserve_ports(1)
        (home / "handler.js").write_text(HANDLER)
        (home / "config.capnp").write_text(_CAPNP % (LOOPBACK, port))
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "workerd"]
        done = await asyncio.to_thread(subprocess.run, install, cwd=home, capture_output=True)
        found = list(await asyncio.to_thread(home.glob, "node_modules/@cloudflare/workerd-*/bin/workerd"))
        if done.returncode or not found:
            return "workerd: could not be installed"
        argv = [*server_core(), str(found[0]), "serve", str(home / "config.capnp")]
        process = await asyncio.to_thread(subprocess.Popen, argv)
        try:
            await _listens(port)
            subject = Subject("workerd", f"http://{LOOPBACK}:{port}/", process.pid)
            await measure_pairs(subject, subject, rounds=2, connections=4)
            return subject.summary()
        finally:
            process.terminate()
            process.wait(30)


async def _listens(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection(LOOPBACK, port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise CouldNotRun("workerd did not start")
