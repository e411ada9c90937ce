"""The first process of the container. It loads WebAssembly once and forks a process for each request of the
host; forked processes share its memory, and give up their privileges before they touch a function."""

import gc
import json
import os
import select
import signal
import socket
import sys
import traceback

from wasmtime import Engine

from .guest import new_engine
from .worker import Worker, become, compile_file

CONTROL = 3
_MAX_MESSAGE = 4096
_MAX_DESCRIPTORS = 4


def main() -> None:
    control = socket.socket(fileno=CONTROL)
    engine = new_engine()
    # What is loaded stays, and its pages stay shared.
    gc.freeze()
    wake, awake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(awake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    processes: dict[int, int] = {}
    control.send(json.dumps({"started": True}).encode())
    while True:
        waiting: list[socket.socket | int] = [control, wake]
        readable, _, _ = select.select(waiting, [], [])
        if wake in readable:
            os.read(wake, 4096)
            _report_ended(control, processes)
        if control not in readable:
            continue
        message, descriptors, _, _ = socket.recv_fds(control, _MAX_MESSAGE, _MAX_DESCRIPTORS)
        if not message:
            # The host has gone; the kernel ends all other processes with this one.
            sys.exit()
        order = json.loads(message)
        if "kill" in order:
            _kill(processes, order["kill"])
            continue
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for inherited in (control.detach(), wake, awake):
                os.close(inherited)
            _run_forked(engine, order, descriptors)
        processes[pid] = order["worker"]
        for descriptor in descriptors:
            os.close(descriptor)


def _kill(processes: dict[int, int], wanted: int) -> None:
    for pid, worker in processes.items():
        if worker == wanted:
            os.kill(pid, signal.SIGKILL)


def _report_ended(control: socket.socket, processes: dict[int, int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        worker = processes.pop(pid, None)
        if worker is not None:
            control.send(json.dumps({"ended": worker, "status": status}).encode())


def _run_forked(engine: Engine, order: dict[str, int], descriptors: list[int]) -> None:
    """Never returns."""
    code = 1
    try:
        become(order["uid"])
        channel = socket.socket(fileno=descriptors[0])
        if "compile" in order:
            compile_file(engine, channel, descriptors[1], descriptors[2])
        else:
            listening = socket.socket(fileno=descriptors[1])
            Worker(engine, channel, listening, descriptors[2], descriptors[3]).run()
        code = 0
    except BaseException:  # noqa: BLE001 - the process must end here, whatever has happened
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
