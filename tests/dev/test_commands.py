"""`steadctl dev` as a user runs it, in a separate process."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from stead.dev.data_directory import DataDirectory, StackRecord
from stead.dev.ports import is_free
from stead.dev.process_identity import ProcessId
from stead.dev.stack import ALL_PROGRAMS
from stead.dev.supervised_program import LOOPBACK

BOUND = 90.0
NAMES = [kind.name for kind in ALL_PROGRAMS]


def argv(data: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "stead.steadctl", "dev", *words, "--data", str(data)]


def dev(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv(data, *words), capture_output=True, text=True, timeout=BOUND, check=False)


class Up:
    """A `steadctl dev up` whose output is read line by line."""

    def __init__(self, data: Path, only: Sequence[str] = ()) -> None:
        words = [word for name in only for word in ("--only", name)]
        self.data, self.lines = data, list[str]()
        self.process = subprocess.Popen(argv(data, "up", *words), stdout=subprocess.PIPE, text=True)

    def until(self, *texts: str) -> str:
        """Reads until a line contains all of these texts, and returns it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if all(text in line for text in texts):
                return line
        raise AssertionError(f"{texts} was never printed: {''.join(self.lines)}")

    def record(self) -> StackRecord:
        return DataDirectory(self.data).load_record()

    def processes(self) -> list[ProcessId]:
        return [it.process for it in self.record().children if it.process is not None]

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)
        return self.process.wait(BOUND)


@contextmanager
def up(data: Path, only: Sequence[str] = ()) -> Iterator[Up]:
    running = Up(data, only)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.interrupt()
        assert running.process.stdout is not None
        running.process.stdout.close()


@pytest.fixture(scope="module")
def everything(shared_scratch: Path) -> Iterator[Up]:
    with up(shared_scratch) as running:
        running.until("curl -s")
        yield running


def curl_line(lines: Sequence[str]) -> list[str]:
    (line,) = (line for line in lines if line.startswith("curl "))
    return shlex.split(line)


def test_up_shows_the_version_port_and_start_time_of_every_engine(everything: Up) -> None:
    output = "".join(everything.lines)
    for child in everything.record().children:
        where = f" on port {child.port}" if child.port else ""
        assert f"{child.name} {child.version} is ready{where} in " in output
    assert [child.name for child in everything.record().children] == NAMES


def test_up_prints_an_account_and_a_curl_line_that_works(everything: Up) -> None:
    _, _, _, header, url = curl_line(everything.lines)
    name, _, value = header.partition(": ")
    answer = httpx.get(url, headers={name: value})
    assert answer.status_code == 200
    assert '"you@stead.localhost"' in answer.text
    output = "".join(everything.lines)
    assert "you@stead.localhost" in output
    assert value.removeprefix("Bearer ") in output
    assert f"http://{LOOPBACK}:{everything.record().ports['api']}/docs" in output


def test_a_second_up_changes_nothing_and_shows_the_running_stack(everything: Up) -> None:
    before = everything.processes()
    second = dev(everything.data, "up")
    assert second.returncode == 0
    assert curl_line(second.stdout.splitlines()) == curl_line(everything.lines)
    assert everything.processes() == before
    assert all(process.is_alive() for process in before)


def test_status_shows_what_runs(everything: Up) -> None:
    status = dev(everything.data, "status")
    assert status.returncode == 0
    rows = [line.split() for line in status.stdout.splitlines()]
    for child in everything.record().children:
        shown = [child.name, child.version, *([str(child.port)] if child.port else [])]
        assert shown in [row[: len(shown)] for row in rows]


def test_logs_prints_the_last_lines_of_one_log_or_of_all(everything: Up) -> None:
    one = dev(everything.data, "logs", "redis")
    assert "Ready to accept connections" in one.stdout
    assert {line.split()[0] for line in one.stdout.splitlines()} == {"redis"}
    every = dev(everything.data, "logs", "--lines", "1")
    assert {line.split()[0] for line in every.stdout.splitlines()} >= {"redis", "nats", "seaweedfs"}


def test_a_killed_engine_is_reported_and_restarted(everything: Up) -> None:
    (killed,) = (it for it in everything.record().children if it.name == "nats")
    assert killed.process is not None
    assert killed.process.send_signal(signal.SIGKILL)
    assert "SIGKILL" in everything.until("nats restarting")
    everything.until("nats", f"is ready on port {killed.port}")
    assert "restarted 1×" in dev(everything.data, "status").stdout


def test_logs_follow_prints_new_lines(scratch: Path) -> None:
    with up(scratch, ["redis"]) as running:
        running.until("redis", "is ready")
        with subprocess.Popen(
            argv(scratch, "logs", "--follow"), stdout=subprocess.PIPE, text=True
        ) as follower:
            assert follower.stdout is not None
            assert "redis" in follower.stdout.readline()
            (process,) = running.processes()
            process.send_signal(signal.SIGTERM)
            assert any("User requested shutdown" in line for line in follower.stdout)
            follower.send_signal(signal.SIGINT)
            follower.stdout.read()
            assert follower.wait(BOUND) == 0


def test_ctrl_c_stops_everything_and_the_next_up_reuses_ports_and_account(scratch: Path) -> None:
    with up(scratch) as first:
        first.until("curl -s")
        record, processes = first.record(), first.processes()
        assert len(processes) == len(NAMES)
        assert first.interrupt() == 0
    assert not [process for process in processes if process.is_alive()]
    assert all(is_free(port) for port in record.ports.values())
    status = dev(scratch, "status")
    assert (status.returncode, "nothing runs" in status.stdout) == (3, True)

    with up(scratch) as second:
        second.until("curl -s")
        assert second.record().ports == record.ports
        assert curl_line(second.lines) == curl_line(first.lines)
        processes = second.processes()
        down = dev(scratch, "down")
        assert (down.returncode, down.stdout) == (0, "stopped\n")
        assert not [process for process in processes if process.is_alive()]
        assert second.end() == 0


def test_ctrl_c_during_startup_stops_everything(scratch: Path) -> None:
    with up(scratch) as running:
        running.until("seaweedfs starting")
        assert running.interrupt() == 0
        assert running.processes() == []
    assert all(is_free(port) for port in DataDirectory(scratch).load_record().ports.values())


def test_down_without_up_does_nothing(scratch: Path) -> None:
    assert dev(scratch, "down").returncode == 0
    assert dev(scratch / "not there", "down").returncode == 0
    assert not (scratch / "not there").exists()


def test_only_the_chosen_engines_are_started(scratch: Path) -> None:
    with up(scratch, ["redis", "nats"]) as running:
        running.until("redis", "is ready")
        assert [child.name for child in running.record().children] == ["redis", "nats"]


def test_a_missing_engine_is_reported_with_the_command_that_installs_it(scratch: Path) -> None:
    failed = subprocess.run(
        argv(scratch, "up", "--only", "redis"),
        env={**os.environ, "PATH": str(scratch)},
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert failed.returncode == 1
    assert (
        failed.stderr
        == "steadctl dev: redis-server is not installed; install it with: apt-get install redis-server\n"
    )


def test_the_data_directory_defaults_to_the_environment_variable(scratch: Path) -> None:
    argv_ = [sys.executable, "-m", "stead.steadctl", "dev", "status"]
    chosen = {**os.environ, "STEAD_DATA": str(scratch / "here")}
    output = subprocess.run(argv_, env=chosen, capture_output=True, text=True, timeout=BOUND, check=False)
    assert output.stdout == f"nothing runs from {scratch / 'here'}\n"
