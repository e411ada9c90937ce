"""Joins a control group, then becomes another program, so that the limits hold from its first byte of memory.

It is executed as a script, with the standard library only: `join_group.py <file>… -- <program> <argument>…`.
The files are those of `cgroups.list_process_files`.
"""

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress


def build_argv(files: Iterable[object]) -> tuple[str, ...]:
    """The beginning of a command: what follows it is executed in the group."""
    return (sys.executable, "-I", "-S", __file__, *map(str, files), "--")


def join(files: Iterable[str]) -> None:
    for file in files:
        # Not every kernel lets it. Without a group, it still comes behind everything else.
        with suppress(OSError), open(file, "w") as group:  # noqa: PTH123 - pathlib is slow to import
            group.write("0")


def main() -> None:
    end = sys.argv.index("--")
    files, program = sys.argv[1:end], sys.argv[end + 1 :]
    join(files)
    # The interpreter ignores them, and the program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execvp(program[0], program)  # noqa: S606 - argv of the agent


if __name__ == "__main__":
    main()
