"""Runs `stead` as people and as CI run it: at a terminal, and without one."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.patience import slowdown

BOUND = 60.0
SIZE = (30, 100)
"""Lines and columns of the terminal."""
CTRL_C = "\x03"
"""Typed until the program ends: an interruption just before it begins to read the terminal has no effect on
that."""
Answer = tuple[str, str | Callable[[str], None]]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Machine:
    """A home and a working directory. Nothing of the machine that runs the tests is seen."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    python: Path = Path(sys.executable)
    """The interpreter in whose environment `stead` is installed."""

    @property
    def environment(self) -> dict[str, str]:
        (self.folder / "home").mkdir(parents=True, exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            **self.variables,
        }

    @property
    def work(self) -> Path:
        found = self.folder / "work"
        found.mkdir(parents=True, exist_ok=True)
        return found

    def stead(self, *words: str, given: str = "", bound: float = BOUND) -> Done:
        """Without a terminal."""
        done = subprocess.run(
            [self.python, "-m", "stead_cli", *words],
            cwd=self.work,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=bound * slowdown(),
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def running(self, *words: str) -> Iterator[tuple[IO[str], Path]]:
        """Without a terminal, until it is interrupted at the end of the block: what it prints, and the file
        with what it says besides."""
        said = self.folder / "said"
        with said.open("w") as stderr:
            process = subprocess.Popen(
                [self.python, "-m", "stead_cli", *words],
                cwd=self.work,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                # An interruption is ignored by whatever a shell has started in the background.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )
        assert process.stdout is not None
        try:
            yield process.stdout, said
            process.send_signal(signal.SIGINT)
            assert process.wait(BOUND * slowdown()) == 130, said.read_text()
        finally:
            process.kill()
            process.wait()

    def at_terminal(self, *words: str, answers: Sequence[Answer] = (), bound: float = BOUND) -> Done:
        """At a pseudo-terminal."""
        command = [str(self.python), "-m", "stead_cli", *words]
        return type_command(command, self.work, self.environment, answers=answers, bound=bound)


def type_command(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    answers: Sequence[Answer] = (),
    bound: float = BOUND,
) -> Done:
    """At a pseudo-terminal: after each text that appears, its answer is typed. A function is called with the
    screen instead."""
    process, terminal = pty.fork()
    if process == 0:
        with suppress(OSError):
            os.chdir(folder)
            os.execvpe(command[0], list(command), environment)  # noqa: S606
        os._exit(127)
    termios.tcsetwinsize(terminal, SIZE)
    screen, ends, waiting = "", time.monotonic() + bound * slowdown(), list(answers)
    seen, interrupts = 0, False
    while time.monotonic() < ends:
        readable, _, _ = select.select([terminal], [], [], 0.2)
        if interrupts and not readable:
            os.write(terminal, CTRL_C.encode())
        if readable:
            try:
                part = os.read(terminal, 4096)
            except OSError:
                break
            if not part:
                break
            screen += part.decode(errors="replace")
        if waiting and waiting[0][0] in screen[seen:]:
            seen = len(screen)
            answer = waiting.pop(0)[1]
            if callable(answer):
                answer(screen)
            elif answer == CTRL_C:
                interrupts = True
            else:
                os.write(terminal, f"{answer}\n".encode())
    else:
        os.kill(process, 9)
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert not waiting, f"{waiting} was never asked: {screen}"
    return Done(os.waitstatus_to_exitcode(status), screen.replace("\r\n", "\n"), "")
