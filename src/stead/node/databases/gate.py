"""A socket to MariaDB for each environment, with a limit of connections.

MariaDB counts a connection for an account only after it has signed in. Without a limit before that, one
environment could use up the connections of all others. nginx listens on the sockets, closes connections above
the limit of an environment, and passes the bytes of the others on.

Its workers run as a user without an account on the server, because the server knows its administrator by the
system user.
"""

import asyncio
import os
import shutil
import signal
import socket
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from stead.node.containers.limits import ContainerFailed
from stead.node.outliving_process import OutlivingProcess
from stead.node.process_end import wait_until_ended
from stead.node.uninterrupted import run_in_thread

MODULE = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
USER = "nobody nogroup"
WORKERS = 2
READY_SECONDS, STOP_SECONDS, RESTART_SECONDS = 10.0, 10.0, 0.5
_POLL_SECONDS = 0.01
_LONGEST_PATH = 107
"""Of a socket, in bytes, by the kernel."""
_CONFIGURATION = """daemon off; user {user}; worker_processes {workers}; worker_rlimit_nofile 16384;
load_module {module};
pid {home}/pid; error_log {home}/error.log crit;
# Requests with open connections finish with the old workers when a site is added.
worker_shutdown_timeout 600s;
events {{ worker_connections 8192; }}
stream {{
    limit_conn_zone $server_addr zone=environments:4m;
    limit_conn_log_level info;
    proxy_connect_timeout 5s; proxy_timeout 1h;
{servers}
}}
"""
_SERVER = "    server {{ listen unix:{path}; limit_conn environments {limit:d}; proxy_pass unix:{server}; }}"

log = structlog.get_logger()


class GateFailed(ContainerFailed):
    """Environments cannot connect to the database."""


def find_nginx() -> str | None:
    """None if nginx or its module for streams is not installed."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin") if MODULE.exists() else None


class DatabaseGate:
    """`server` is the socket of MariaDB. nginx outlives the agent, and the next one finds it."""

    def __init__(self, home: Path, server: Path, nginx: str) -> None:
        self._home, self._server, self._nginx = home, server, nginx
        self._limits: dict[Path, int] = {}
        self._changing = asyncio.Lock()
        self._process = OutlivingProcess(home / "pid", lambda command: os.fsencode(self._file) in command)

    @property
    def _file(self) -> Path:
        return self._home / "nginx.conf"

    async def open(self, limits: Mapping[Path, int]) -> None:
        """Return when environments can connect to these sockets, each so many times at once. Raises
        GateFailed."""
        async with self._changing:
            changed = {path: limit for path, limit in limits.items() if self._limits.get(path) != limit}
            if not changed:
                return
            if any(len(os.fsencode(path)) > _LONGEST_PATH for path in changed):
                # nginx would not start, for no environment.
                raise GateFailed("the path of a socket is too long: choose a shorter directory for the node")
            self._limits |= changed
            await run_in_thread(_prepare, changed)
            await self._apply()
            if not await self._wait_for(changed):
                # nginx keeps a socket whose file was removed meanwhile.
                log.warning("databases.gate_restarted")
                await self._process.end(STOP_SECONDS)
                await self._apply()
                if not await self._wait_for(changed):
                    for path in changed:
                        del self._limits[path]
                    raise GateFailed("nginx does not listen for connections to the database")

    async def close(self, path: Path) -> None:
        async with self._changing:
            if self._limits.pop(path, None) is not None:
                await self._apply()

    async def keep_running(self) -> None:
        """Start nginx again when it has ended. Never returns; nginx runs on when this is cancelled."""
        while True:
            await asyncio.sleep(RESTART_SECONDS)
            if (pid := self.find_process()) is not None:
                await wait_until_ended(pid)
            async with self._changing:
                if self._limits and self.find_process() is None:
                    log.warning("databases.gate_ended")
                    await self._apply()

    async def stop(self) -> None:
        async with self._changing:
            await self._process.end(STOP_SECONDS)

    def find_process(self) -> int | None:
        """Its master process."""
        return self._process.find()

    async def _apply(self) -> None:
        """Let nginx listen on the sockets of all environments, and on no other."""
        await run_in_thread(self._write)
        pid = self.find_process()
        if pid is None:
            await run_in_thread(self._start)
        else:
            os.kill(pid, signal.SIGHUP)

    def _write(self) -> None:
        self._home.mkdir(mode=0o700, exist_ok=True)
        servers = (
            _SERVER.format(path=path, limit=limit, server=self._server)
            for path, limit in sorted(self._limits.items())
            if path.parent.is_dir()
        )
        text = _CONFIGURATION.format(
            user=USER, workers=WORKERS, module=MODULE, home=self._home, servers="\n".join(servers)
        )
        fresh = self._file.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self._file)

    def _start(self) -> None:
        # Workers of a master process that was killed belong to its process group.
        with suppress(OSError, ValueError):
            _kill_workers(int(self._process.pid_file.read_text()))
        for path in self._limits:
            path.unlink(missing_ok=True)
        with (self._home / "error.log").open("wb") as output:
            self._process.start([self._nginx, "-c", str(self._file), "-e", "stderr"], output)

    async def _wait_for(self, paths: Collection[Path]) -> bool:
        until = time.monotonic() + READY_SECONDS
        missing = set(paths)
        while missing := {path for path in missing if not _accepts(path)}:
            if time.monotonic() > until:
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True


def _prepare(paths: Collection[Path]) -> None:
    """Remove the sockets of an nginx that was killed: a new one could not listen there."""
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o755)
        if not _accepts(path):
            path.unlink(missing_ok=True)


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(os.fspath(path))
        except OSError:
            return False
        return True


def _kill_workers(group: int) -> None:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            if (folder / "comm").read_text() == "nginx\n" and os.getpgid(int(folder.name)) == group:
                os.kill(int(folder.name), signal.SIGKILL)
