"""`make quickstart` follows docs/quickstart.md until a folder is live, and prints how long that took.

Once from a clone, and once more, by somebody else, on the installation that then runs. Both have ports,
folders and a home of their own, which are removed at the end. Shared with other work on the machine are the
Debian packages, which must be installed, the caches of uv and npm, and the images of nodes, which are made
only if they are missing.
"""

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import NoReturn

from bench.results import CouldNotRun, Result
from stead.dev.stack import Stack
from stead.dev.supervised_program import clean_environment
from tests.clients.quickstart import Command, Reader, read_commands
from tests.journeys.visitor import Visitor

CLONE_GOAL, INSTALLED_GOAL = 180, 60
STOP_SECONDS = 90.0
READY = "curl -s"
"""What `make dev` prints when everything is ready."""
_ROOT = Path(__file__).parents[1]
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
_LAST_LINES = 15


class Stopwatch:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._steps: list[str] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._steps.append(f"{time.monotonic() - began:6.1f} s  {name}")

    def result(self, goal: float) -> Result:
        return Result(time.monotonic() - self._began, goal, self._steps)


class Clone:
    """A copy of the last commit, and the installation that `make dev` starts from it."""

    def __init__(self, scratch: Path) -> None:
        self.path, self.data, self._log = scratch / "stead", scratch / "data", scratch / "log"
        images = {name: os.environ[name] for name in ("STEAD_IMAGES",) if name in os.environ}
        given = clean_environment({"STEAD_DATA": str(self.data), **images})
        self._environment = {name: value for name, value in given.items() if name not in _OF_MAKE}

    def run(self, command: Command, folder: Path) -> None:
        with (
            self._log.open("ab") as log,
            subprocess.Popen(
                command,
                cwd=folder,
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            ) as running,
        ):
            try:
                code = running.wait()
            except BaseException:
                # With everything that it has started.
                os.killpg(running.pid, signal.SIGKILL)
                raise
        if code:
            raise CouldNotRun(f"{' '.join(command)} failed:\n{self._tail()}")

    @contextmanager
    def start(self, command: Command) -> Iterator[None]:
        """Until it is ready. At the end it is interrupted, as with Ctrl-C."""
        with self._log.open("ab") as log:
            running = subprocess.Popen(
                command,
                cwd=self.path,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert running.stdout is not None
        try:
            for line in running.stdout:
                if READY in line:
                    break
            else:
                raise CouldNotRun(f"{' '.join(command)} ended:\n{self._tail()}")
            yield
        finally:
            self._stop(running)

    def _stop(self, running: subprocess.Popen[str]) -> None:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGINT)
        try:
            running.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
        # Also what a crash has left behind.
        self.run([str(self.path / ".venv" / "bin" / "steadctl"), "dev", "down"], self.path)

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-_LAST_LINES:])


@contextmanager
def _scratch() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="stead-quickstart-"))
    # PostgreSQL may run as another user, who must be able to enter the directory.
    path.chmod(0o711)
    try:
        yield path
    finally:
        for place in _mounts_below(path):
            _succeeds("umount", place)
        # Never what is mounted from elsewhere.
        if left := _mounts_below(path):
            raise CouldNotRun(f"{path} is not removed, because something is mounted in it: {left[0]}")
        shutil.rmtree(path)


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, check=False).returncode == 0


def _mounts_below(path: Path) -> list[str]:
    """The last one first, because it may be within another one."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [place for place in reversed([line.split()[1] for line in lines]) if place.startswith(f"{path}/")]


def _follow(reader: Reader, watch: Stopwatch) -> None:
    for command in reader.commands:
        name = shlex.join(command)
        with watch.step(name):
            try:
                reader.type_command(command)
            except (AssertionError, subprocess.SubprocessError) as failure:
                raise CouldNotRun(f"{name} failed: {failure}") from None
    with watch.step(f"https://{reader.domain}/ is served"):
        asyncio.run(_see(reader))


async def _see(reader: Reader) -> None:
    visitor = await Visitor.of(reader.stack)
    try:
        await visitor.until(reader.domain, reader.page)
    except AssertionError as failure:
        raise CouldNotRun(str(failure)) from None


def commands_of_the_readme() -> tuple[Command, Command]:
    """Those that prepare and start; the one that installs packages of the system comes before."""
    _, setup, dev = islice(read_commands((_ROOT / "README.md").read_text()), 3)
    return setup, dev


def _measure() -> None:
    if not _succeeds("git", "-C", str(_ROOT), "diff", "--quiet", "HEAD"):
        print("changes that are not committed are not measured", file=sys.stderr)
    setup, dev = commands_of_the_readme()
    with _scratch() as scratch, ExitStack() as ending:
        clone, watch = Clone(scratch), Stopwatch()
        with watch.step("git clone"):
            clone.run(["git", "clone", "--no-local", str(_ROOT), str(clone.path)], scratch)
        with watch.step(" ".join(setup)):
            clone.run(setup, clone.path)
        with watch.step(" ".join(dev)):
            ending.enter_context(clone.start(dev))
        stack = Stack.attach(clone.data)
        _follow(Reader(scratch / "first", clone.path, stack, "hello.example.com"), watch)
        print(*watch.result(CLONE_GOAL).lines("quickstart_from_clone_s"), sep="\n", flush=True)
        watch = Stopwatch()
        _follow(Reader(scratch / "second", clone.path, stack, "again.example.com"), watch)
        print(*watch.result(INSTALLED_GOAL).lines("quickstart_installed_s"), sep="\n", flush=True)


def _end(*_: object) -> NoReturn:
    sys.exit(1)


def main() -> int:
    # Everything that was started is stopped then, too.
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    try:
        _measure()
    except CouldNotRun as reason:
        print(f"could not run: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
