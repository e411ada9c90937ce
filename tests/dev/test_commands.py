"""The commands of `steadctl dev`."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from stead.dev.data_directory import DataDirectory
from stead.dev.ports import is_free
from stead.dev.supervised_program import LOOPBACK
from tests.dev.up import BOUND, NAMES, Up, argv, curl_line, dev, up


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
    assert f"{LOOPBACK}, port {everything.record().ports['ssh']}" in output


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


def test_the_variables_of_an_operator_run_the_commands_of_an_operator(everything: Up) -> None:
    printed = dev(everything.data, "env", "--operator").stdout.splitlines()
    pairs = [shlex.split(line)[1].partition("=") for line in printed]
    variables = os.environ | {name: value for name, _, value in pairs}
    for words, expected in ((["nodes", "list"], "us-east"), (["artifacts", "list"], "digest")):
        ended = subprocess.run(
            [sys.executable, "-m", "stead.steadctl", *words],
            env=variables,
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=False,
        )
        assert (ended.returncode, expected in ended.stdout) == (0, True), ended.stderr


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
