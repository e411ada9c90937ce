"""Messages between the tests and the server that forks programs."""

import msgspec

MAX_MESSAGE = 128 * 1024


class Start(msgspec.Struct, tag=True):
    """Sent with the file descriptors of stdin, stdout and stderr. The reply is the process id."""

    module: str
    arguments: list[str]
    environment: dict[str, str]
    directory: str
    death_signal: int
    """What the program receives when the server, and with it the test run, dies."""
    network: str = ""
    """The name of a network namespace to run in."""


class Reap(msgspec.Struct, tag=True):
    """The process has exited. The reply is its exit code, or the negative number of a signal."""

    pid: int


class Reply(msgspec.Struct):
    value: int


Request = Start | Reap
