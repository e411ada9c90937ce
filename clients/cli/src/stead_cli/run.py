"""Runs a command, and turns every failure into a message and an exit code."""

import io
import os
import sys
from typing import Any

import click

from stead_cli import failures
from stead_cli.groups import Root
from stead_cli.texts import write_error


def run(arguments: list[str]) -> int:
    chosen: dict[str, Any] = {}
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows another one.
            stream.reconfigure(errors="replace")
    try:
        result = Root().main(arguments, prog_name="stead", standalone_mode=False, obj=chosen)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (click.Abort, KeyboardInterrupt):
        import signal

        # People press Ctrl-C again. What is left to do is not interrupted, so that the exit code stays.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        write_error("Interrupted.\n")
        return failures.INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted. Nothing more may be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - every failure has a message and a code
        # `--json` may also be an argument of a program that runs elsewhere: `stead wp plugin list --json`.
        return failures.report(error, as_json=chosen.get("as_json", "--json" in arguments))
    return result if isinstance(result, int) else 0
