"""`python -m tests.preloaded.server FD`: imports Stead's programs and forks one for each request."""

import ctypes
import gc
import importlib
import os
import runpy
import signal
import socket
import sys

import msgspec

from tests.preloaded.protocol import MAX_MESSAGE, Reap, Reply, Request, Start

PRELOADED = (
    "stead.control.engines.migrations",
    "stead.control.provisioning",
    "stead.control.serving",
    "stead.control.worker",
    "stead.edge.main",
    "stead.node.main",
    "stead.steadctl",
    "tests.faults.webhooks.worker",
)
PR_SET_PDEATHSIG = 1
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def serve(connection: socket.socket) -> Start:
    """Returns only in a forked process, with the program it has to become."""
    server = os.getpid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, MAX_MESSAGE, 3)
        if not message:
            sys.exit()
        match msgspec.json.decode(message, type=Request):
            case Reap(pid):
                value = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            case Start() as start:
                value = os.fork()
                if value == 0:
                    connection.close()
                    become(start, descriptors, server)
                    return start
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(msgspec.json.encode(Reply(value)))


def become(start: Start, descriptors: list[int], server: int) -> None:
    os.setsid()
    _libc.prctl(PR_SET_PDEATHSIG, start.death_signal, 0, 0, 0)
    # The server may have died before the call took effect.
    if os.getppid() != server:
        os._exit(1)
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if start.network:
        enter_network(start.network)
    os.environ.clear()
    os.environ.update(start.environment)
    os.chdir(start.directory)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def enter_network(name: str) -> None:
    handle = os.open(f"/run/netns/{name}", os.O_RDONLY)
    if _libc.setns(handle, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {name}")
    os.close(handle)


def main() -> None:
    # Ctrl-C is for the tests. The server ends when their end of the socket is closed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    start = serve(socket.socket(fileno=int(sys.argv[1])))
    sys.argv = [start.module, *start.arguments]
    # Like `python -m`, run the module itself anew.
    sys.modules.pop(start.module, None)
    runpy.run_module(start.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
